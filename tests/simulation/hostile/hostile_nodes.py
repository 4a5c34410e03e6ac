"""One node writes anything that its account may write: its Node, status, Lease and agent's Lease.

NodeRestriction keeps it from objects of other nodes, and from its own taints.
"""

from collections.abc import Callable
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

Change = dict[str, Any]

HUGE: Final = "x" * 60_000
TIMES: Final = (
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
)
BOOTS: Final = ("", " ", "a boot\nof two lines", "b" * 300, "../../etc", "%s%n")
REPORTS: Final = (
    "",
    "{}",
    "[]",
    "null",
    '{"sequence":-1}',
    '{"peers":' + "[" * 500,
    HUGE,
    '{"bootID":1e999}',
)


class HostileNode:
    """A node that lies about itself. The invariants must know its name."""

    def __init__(self, around: Around, name: str) -> None:
        self._around = around
        self._name = name
        self._labels: set[str] = set()
        self._annotations: set[str] = set()

    def plan(self) -> None:
        self._around.at_some_times(12, self._write)
        self._around.scheduler.at(self._around.ceases, self._tell_the_truth)

    def _write(self) -> None:
        around, token = self._around, self._around.token(Kind.NODES)
        write = around.chance.choice(self._writes())
        around.note(f"{self._name}: {write.__name__}")
        if write(token):
            around.counts.make(Kind.NODES, token)

    def _writes(self) -> list[Callable[[str], bool]]:
        with_machine = [self._lie_about_the_boot, self._lie_about_the_board, self._write_agent_lease]
        always = [self._label, self._annotate, self._state_conditions, self._write_lease]
        return [*always, *(with_machine if self._around.machines else ())]

    @property
    def _another(self) -> str:
        return self._around.chance.choice([name for name in self._around.nodes if name != self._name])

    def _label(self, token: str) -> bool:
        key, value = self._around.chance.choice(
            (
                ("topology.kubernetes.io/zone", token),
                ("kubernetes.io/hostname", self._another),
                (well_known.EXCLUDE, "true"),
                ("example.com/label", token),
            )
        )
        self._labels.add(key)
        labels = {key: value, "example.com/token": token}
        return self._patch({"metadata": {"labels": labels}})

    def _annotate(self, token: str) -> bool:
        key, value = self._around.chance.choice(
            (
                (well_known.RELEASE_REVOKED, token),
                (well_known.RELEASE_REVOKED, ""),
                (well_known.MACHINE_OF_NODE, self._another),
                (well_known.OPENSHIFT_MACHINE_OF_NODE, "//" + token),
                (well_known.MARKER, HUGE),
                ("example.com/huge", HUGE),
            )
        )
        self._annotations.add(key)
        return self._patch({"metadata": {"annotations": {key: value, "example.com/token": token}}})

    def _state_conditions(self, token: str) -> bool:
        """Write conditions of any type and time.

        They cannot hide from controllers that its kubelet renews no Lease.
        """
        chance = self._around.chance
        stated = [
            {
                "type": chance.choice(("Ready", "Ready", "MemoryPressure", "Nothing", "example.com/Odd")),
                "status": chance.choice(("True", "False", "Unknown")),
                "reason": chance.choice(("", token)),
                "message": chance.choice((token, token + HUGE)),
                "lastTransitionTime": chance.choice(TIMES),
            }
        ]
        return self._patch({"status": {"conditions": stated}}, "status")

    def _lie_about_the_boot(self, token: str) -> bool:
        another = self._around.machines[self._another]
        boot = self._around.chance.choice((*BOOTS, another.boot_id, token))
        info = {"bootID": boot, "kernelVersion": token}
        return self._patch({"status": {"nodeInfo": info}}, "status")

    def _lie_about_the_board(self, token: str) -> bool:
        another = self._around.machines[self._another]
        uuid = self._around.chance.choice((another.system_uuid, "", token))
        info = {"systemUUID": uuid, "machineID": another.name, "kernelVersion": token}
        return self._patch({"status": {"nodeInfo": info}}, "status")

    def _write_lease(self, token: str) -> bool:
        chance = self._around.chance
        spec = {
            "holderIdentity": chance.choice((self._another, token, self._name)),
            "leaseDurationSeconds": chance.choice((1, 40, 2**31 - 1)),
            "renewTime": chance.choice(("9999-12-31T23:59:59.000000Z", "1970-01-01T00:00:00.000000Z")),
        }
        change = {"metadata": {"annotations": {"example.com/token": token}}, "spec": spec}
        answer = self._around.api.try_patch(
            LEASE, self._name, change, at=(well_known.KUBELET_LEASE_NAMESPACE, "")
        )
        return answer.status == 200

    def _write_agent_lease(self, token: str) -> bool:
        around = self._around
        report = around.chance.choice((*REPORTS, token))
        annotations = {well_known.AGENT_REPORT: report, "example.com/token": token}
        if around.api.get(LEASE, self._name, well_known.AGENT_NAMESPACE) is None:
            body = {"metadata": {"name": self._name, "annotations": annotations}, "spec": {}}
            around.api.create(LEASE, body, well_known.AGENT_NAMESPACE)
            return True
        at = (well_known.AGENT_NAMESPACE, "")
        change = {"metadata": {"annotations": annotations}}
        return around.api.try_patch(LEASE, self._name, change, at=at).status == 200

    def _patch(self, change: Change, subresource: str = "") -> bool:
        """Patch the Node. Returns False if the server refuses the change, which then has no effect."""
        answer = self._around.api.try_patch(NODE, self._name, change, at=("", subresource))
        return answer.status == 200

    def _tell_the_truth(self) -> None:
        """End the attack: its kubelet is correct again, and an admin repairs the objects."""
        machine = self._around.machines.get(self._name)
        labels = dict.fromkeys({*self._labels, "example.com/token"}) | {"kubernetes.io/hostname": self._name}
        noted: dict[str, str | None] = dict.fromkeys({*self._annotations, "example.com/token"})
        noted |= {**machine.annotations} if machine else {}
        self._patch({"metadata": {"labels": labels, "annotations": noted}})
        if machine:
            self._patch({"status": {"conditions": [], "nodeInfo": None}}, "status")
            machine.restart_kubelet()
        at = (well_known.KUBELET_LEASE_NAMESPACE, "")
        self._around.api.try_patch(LEASE, self._name, {"spec": {"leaseDurationSeconds": 40}}, at=at)
        if machine:
            self._around.api.delete(LEASE, self._name, well_known.AGENT_NAMESPACE)
