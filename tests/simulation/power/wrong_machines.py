"""Directed seeds: a power cycle must not release a node on what happened to another machine."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.meta import print_micro_time
from nodemend.api.resources import BARE_METAL_HOST, EVENT, LEASE, NODE
from simulation.cluster.machines import BOOT_TAKES, RENEW_EVERY, system_uuid
from simulation.cluster.world import FOREIGN_TAINT
from simulation.metal3.rack import (
    CROSSED,
    MACHINE,
    NAMESPACE,
    PROJECTS,
    introduce,
    machine_of,
    owned_by,
)
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.power.directed import ANOTHER, BEGUN_WITHIN, SICK, Directed, WriteKind
from tests.simulation.power.invariants import CrossedBmcInvariants, PowerInvariants
from tests.simulation.walking_path.invariants import is_ours

OPENSHIFT_FORM: Final = "baremetalhost:///{namespace}/{host}/{uid}"
AN_EARLIER_UID: Final = "11111111-2222-4333-8444-555555555555"
TAINT_STAYS: Final = 20.0
"""Seconds for which Nodemend's taint may stay on a node after its kubelet reports again."""
WATCHED_FOR: Final = 120.0
"""Seconds from the time by which a power-off would have been requested."""


class WrongMachine(Directed):
    """Cables are mixed up: a host is not the machine of the Node for which it is found. One fact shows that.

    An admin noted the system UUIDs on the hosts. Or the host was recreated for another machine, and the
    Node's provider ID has the UID of the earlier one. Or the Node of the other machine states the same host.
    """

    family: ClassVar[str] = "WrongMachine"
    crossed: ClassVar[bool] = True
    kinds = PROJECTS["OpenShift"]

    def play(self) -> None:
        self.run(1.0)
        fact = self.chance.choice((self._system_uuid, self._uid_of_host, self._another_node))
        self.tell(f"shown by {fact.__name__.strip('_').replace('_', ' ')}")
        fact()
        self.begin()
        self.invariants.behind = CROSSED
        self.lose(self.sick)
        self.run(BEGUN_WITHIN + WATCHED_FOR)

    def _system_uuid(self) -> None:
        """Let everything else agree, through the Machines. No Node has the UUID that was noted."""
        introduce(self.world, "OpenShift")
        self.annotate(SICK, well_known.HOST_SYSTEM_UUID, system_uuid("spare"))

    def _uid_of_host(self) -> None:
        note_wrong_uuids(self)
        provider_id = OPENSHIFT_FORM.format(namespace=NAMESPACE, host=SICK, uid=AN_EARLIER_UID)
        self._register_as(SICK, provider_id)

    def _another_node(self) -> None:
        note_wrong_uuids(self)
        self._register_as(ANOTHER, self.sick.provider_id)

    def _register_as(self, name: str, provider_id: str) -> None:
        """Register the Node again with this provider ID: it cannot be changed."""
        self.world.machines[name].provider_id = provider_id
        self.api.delete(NODE, name)
        self.world.machines[name].restart_kubelet()
        self.run(5.0)
        self.api.patch(NODE, name, {"spec": {"taints": [FOREIGN_TAINT]}})


def note_wrong_uuids(directed: Directed) -> None:
    """Let an admin note on each host the system UUID of the machine that it should be."""
    for name in directed.world.machines:
        directed.annotate(name, well_known.HOST_SYSTEM_UUID, system_uuid(name))


class EqualNames(Directed):
    """A remediation belongs to the Machine of another cluster, which has the same names.

    The host is the other machine, and the Node of this cluster names no Machine.
    """

    family: ClassVar[str] = "EqualNames"
    crossed: ClassVar[bool] = True
    kinds = PROJECTS["Cluster API"]

    def play(self) -> None:
        introduce(self.world, "Cluster API")
        for name in self.world.machines:
            self.annotate(name, well_known.HOST_SYSTEM_UUID, None)
        status = {"status": {"nodeInfo": None}}
        self.api.patch(MACHINE, machine_of(SICK), status, at=(NAMESPACE, "status"))
        names_none = dict.fromkeys(self.sick.annotations)
        self.api.patch(NODE, SICK, {"metadata": {"annotations": names_none}})
        self.sick.annotations = {}
        self.begin()
        self.invariants.behind = CROSSED
        self.lose(self.sick)
        self.run(self.chance.uniform(50.0, 150.0))
        machine = self.api.get(MACHINE, machine_of(SICK), NAMESPACE)
        assert machine is not None
        self.ask(SICK, ownerReferences=[owned_by(MACHINE, machine)])
        self.run(WATCHED_FOR)


class SpeaksOn(Directed):
    """Cables are mixed up, no fact shows it, and the kubelet of the node goes on renewing its Lease.

    So its machine runs, though the host that is taken for it is off. It falls silent a little later.
    """

    family: ClassVar[str] = "SpeaksOn"
    crossed: ClassVar[bool] = True

    def play(self) -> None:
        note_wrong_uuids(self)
        self.begin()
        self.sick.connected = False
        self._is_not_ready()
        self._renews = True
        self._renew()
        self.once(WriteKind.SEEN_OFF, self._falls_silent, after=self.chance.uniform(11.0, 35.0))
        self.run(BEGUN_WITHIN + WATCHED_FOR)

    def _is_not_ready(self) -> None:
        self.tell("its kubelet reports that it is not ready")
        node = self.api.get(NODE, SICK) or {}
        said = [
            {**one, "status": "False"} if one["type"] == "Ready" else one
            for one in node["status"]["conditions"]
        ]
        self.api.patch(NODE, SICK, {"status": {"conditions": said}}, at=("", "status"))

    def _renew(self) -> None:
        if not self._renews:
            return
        spec = {"renewTime": print_micro_time(self.world.scheduler.wall())}
        self.api.patch(LEASE, SICK, {"spec": spec}, at=(well_known.KUBELET_LEASE_NAMESPACE, ""))
        self.world.scheduler.after(10.0, self._renew)

    def _falls_silent(self) -> None:
        self.tell("its kubelet falls silent")
        self._renews = False


class SpeaksAgain(Directed):
    """Cables are mixed up, no fact shows it, and the kubelet of the released boot reports again.

    Kubernetes' controllers are away, so nothing has been removed yet, and it need not be.
    """

    family: ClassVar[str] = "SpeaksAgain"
    crossed: ClassVar[bool] = True
    judged_by: ClassVar[type[PowerInvariants]] = CrossedBmcInvariants

    def play(self) -> None:
        note_wrong_uuids(self)
        self.begin()
        self.sick.connected = False
        self.once(WriteKind.RELEASED, self._is_heard)
        self.run_until(lambda: self.world.engine.away, BEGUN_WITHIN)
        self.run(BOOT_TAKES + RENEW_EVERY + TAINT_STAYS)
        node = self.api.get(NODE, SICK) or {}
        if any(map(is_ours, node["spec"]["taints"])):
            raise InvariantBrokenError(f"I1: our taint stays on {SICK}, whose kubelet speaks")

    def _is_heard(self) -> None:
        self.tell("its kubelet is heard again")
        self.world.engine.away = True
        self.world.scheduler.after(self.chance.uniform(0.5, 5.0), lambda: self.heal(self.sick))


class NewBoard(SpeaksAgain):
    """A user powers a released node on before its workloads have left, and its board is another one."""

    family: ClassVar[str] = "NewBoard"
    crossed: ClassVar[bool] = False
    judged_by: ClassVar[type[PowerInvariants]] = PowerInvariants

    def _is_heard(self) -> None:
        self.sick.system_uuid = system_uuid("spare")
        super()._is_heard()


class OldTruth(Directed):
    """metal3 reports late that the host was off, and by then its machine runs again.

    Another client had it powered off, and a user pressed its button while the host's operator slept. The
    order to power it off that follows is accepted, and nothing happens. Events of that earlier power-off
    exist, or one of an earlier host of that name is published late.
    """

    family: ClassVar[str] = "OldTruth"

    def play(self) -> None:
        self.begin()
        another = f"{well_known.HOLD_PREFIX}somebody-else"
        self.annotate(SICK, another, "")
        self.run_until(lambda: not self.sick.powered, 60.0)
        self.tell("the operator of hosts sleeps")
        self.rack.operator.process.pause(self.chance.uniform(195.0, 230.0))
        self.run(2.0)
        self.annotate(SICK, another, None)
        self.run(self.chance.uniform(2.0, 6.0))
        bmc = self.rack.bmcs[SICK]
        bmc.press(on=True)
        bmc.faults.off_never_done = True
        self.run(self.chance.uniform(40.0, 50.0))
        self.sick.connected = False
        if self.chance.random() < 0.7:
            self.once(WriteKind.HELD, self._publish_late, after=self.chance.uniform(0.0, 20.0))
        self.run(BEGUN_WITHIN + WATCHED_FOR)

    def _publish_late(self) -> None:
        self.tell("an event of an earlier host is published late")
        regarding = {
            "apiVersion": BARE_METAL_HOST.api_version,
            "kind": BARE_METAL_HOST.kind,
            "name": SICK,
            "namespace": NAMESPACE,
            "uid": AN_EARLIER_UID,
        }
        event = {
            "metadata": {"name": f"{SICK}.late"},
            "eventTime": print_micro_time(self.world.scheduler.wall()),
            "type": "Normal",
            "reason": "PowerOff",
            "action": "PowerOff",
            "note": "Host powered off",
            "regarding": regarding,
            "reportingController": "metal3.io/baremetal-operator",
            "reportingInstance": "baremetal-operator",
        }
        self.api.create(EVENT, event, NAMESPACE)
