"""Machines under a MachineHealthCheck, as the guard sees them."""

from math import inf

from nodemend.api.conditions import ConditionStatus
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.control_plane_roll import ROLE_LABELS
from nodemend.controllers.checking.guarding import CALM_NEEDED, VIEW_GOOD_FOR
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.machine_health_check.clusters import ClusterNodes
from nodemend.controllers.machine_health_check.fleet import MachineKey, cluster_of
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.node_exclusion import record_excluded_by
from nodemend.decide.facts import PolicyFacts
from nodemend.decide.guard_facts import CheckFacts, ControlPlane, Sight
from nodemend.decide.limits import Reading
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import PAUSED, MachineRecord
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache

ZONE = "topology.kubernetes.io/zone"


def ward_of(view: MachineView, target: Target, policy: PolicyFacts | None) -> Ward:
    machine = target.machine
    node = node_of(view, machine)
    zone = {ZONE: machine.failure_domain} if machine.failure_domain else {}
    return Ward(
        name=str(target.key),
        labels=zone | (node.labels if node is not None else {}),
        check=check_facts(view, target.check, str(target.check_key), machine, policy),
        cluster=cluster_of(machine),
        excluded_by=record_excluded_by(node) if node is not None else "",
    )


def check_facts(
    view: MachineView,
    check: MachineCheckRecord,
    name: str,
    machine: MachineRecord | None,
    policy: PolicyFacts | None,
) -> CheckFacts:
    return CheckFacts(
        name=name,
        gate=check.rules.gate,
        reading=_reading(check, policy),
        pause=_pause(view, check, machine),
        unread="; ".join(check.rules.unread),
    )


def node_of(view: MachineView, machine: MachineRecord) -> NodeRecord | None:
    where = view.clusters.nodes_of(machine)
    return where.nodes.get(machine.node) if isinstance(where, ClusterNodes) else None


class MachineSurroundings:
    """What the guard looks at around a machine."""

    def __init__(self, view: MachineView) -> None:
        self._view = view
        self._begun: dict[str, float] = {}

    def note_begun(self, name: str, now: float) -> None:
        """Asked for just now: it is busy, also before our own watches tell us."""
        self._begun[name] = now

    @property
    def policies(self) -> ObjectCache[RemediationPolicy]:
        return self._view.policies

    def sight(self, _ward: Ward, now: float) -> Sight:
        troubled = self._view.clusters.own.nodes.troubled_at
        calm_for = inf if troubled is None else now - troubled
        return Sight(self._view.age(now), VIEW_GOOD_FOR, calm_for, CALM_NEEDED)

    def busy(self, now: float) -> frozenset[str]:
        """Machines whose owner is asked, and whoever has a remediation that goes on."""
        self._begun = {name: at for name, at in self._begun.items() if now - at < VIEW_GOOD_FOR}
        asked = (str(key) for key in self._view.fleet.asked())
        open_ = (
            self._name_of(record.owners, record.name)
            for record in self._view.remedies.all()
            if record.says("Succeeded") != ConditionStatus.TRUE
        )
        return frozenset((*asked, *open_, *self._begun))

    def control_plane(self, ward: Ward, busy: frozenset[str]) -> ControlPlane | None:
        members = self._members(ward.cluster)
        if ward.name not in members:
            return None
        others = {name: ready for name, ready in members.items() if name != ward.name}
        working = sorted(busy & others.keys())
        return ControlPlane(len(members), sum(others.values()), working[0] if working else "")

    def _members(self, cluster: str) -> dict[str, bool]:
        """The control-plane machines of a cluster, with whether their nodes are Ready."""
        found = {}
        for key in self._view.fleet.in_cluster(cluster):
            machine = self._view.fleet.machine(key)
            node = node_of(self._view, machine) if machine is not None else None
            by_node = node is not None and any(label in node.label_keys for label in ROLE_LABELS)
            if machine is not None and (machine.control_plane or by_node):
                found[str(key)] = _is_ready(node)
        return found

    def _name_of(self, owners: tuple[str, ...], name: str) -> str:
        keys = (self._view.fleet.by_uid(uid) for uid in owners)
        return next((str(key) for key in keys if isinstance(key, MachineKey)), name)


def _is_ready(node: NodeRecord | None) -> bool:
    ready = node.condition("Ready") if node is not None else None
    return ready is not None and ready.status == ConditionStatus.TRUE


def _reading(check: MachineCheckRecord, policy: PolicyFacts | None) -> Reading:
    """A limit that says "or equal" is read so; of the others the policy tells how."""
    if check.rules.reading is Reading.STOPS_ABOVE or policy is None:
        return check.rules.reading
    return policy.machines.reading


def _pause(view: MachineView, check: MachineCheckRecord, machine: MachineRecord | None) -> Pause | None:
    """A claimed check is paused for the project that else would serve it, and not for us."""
    if check.paused and not check.claimed:
        return Pause(reason=f"it has the annotation {PAUSED}")
    if machine is None:
        return None
    realm = view.fleet.realms.get(machine.resource.group)
    clusters = realm.clusters if realm is not None else None
    cluster = clusters.get(cluster_of(machine)) if clusters is not None else None
    return Pause(reason=f"its Cluster {cluster.name} is paused") if cluster and cluster.paused else None
