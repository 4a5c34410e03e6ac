"""Machines under a MachineHealthCheck, as the guard sees them."""

from collections.abc import Iterable
from math import inf

from nodemend.api.conditions import ConditionStatus
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.guarding import CALM_NEEDED, VIEW_GOOD_FOR
from nodemend.controllers.checking.ward import Busy, Ward
from nodemend.controllers.machine_health_check.clusters import ClusterNodes, OutOfReach
from nodemend.controllers.machine_health_check.fleet import MachineKey, cluster_of
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.node_exclusion import record_excluded_by
from nodemend.decide.facts import PolicyFacts
from nodemend.decide.guard_facts import Blind, CheckFacts, ControlPlane, Sight
from nodemend.decide.limits import Reading
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import PAUSED, MachineRecord
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.remediation_record import RemediationRecord

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
        control_plane=_is_control_plane(view, machine),
    )


def check_facts(
    view: MachineView,
    check: MachineCheckRecord,
    name: str,
    machine: MachineRecord | None,
    policy: PolicyFacts | None,
) -> CheckFacts:
    pause, unpause = _pause(view, check, machine)
    return CheckFacts(
        name=name,
        gate=check.rules.gate,
        reading=_reading(check, policy),
        pause=pause,
        unpause=unpause,
        unread="; ".join(check.rules.unread),
    )


def node_of(view: MachineView, machine: MachineRecord) -> NodeRecord | None:
    where = view.clusters.nodes_of(machine)
    return where.nodes.get(machine.node) if isinstance(where, ClusterNodes) else None


class MachineSurroundings:
    """What the guard looks at around a machine."""

    def __init__(self, view: MachineView) -> None:
        self._view = view

    @property
    def policies(self) -> ObjectCache[RemediationPolicy]:
        return self._view.policies

    def sight(self, ward: Ward, now: float) -> Sight | Blind:
        """Of the ward's own cluster: what we see of another says nothing about it."""
        nodes = self._view.clusters.cache_of(ward.cluster)
        if isinstance(nodes, OutOfReach):
            return Blind(nodes.why)
        calm_for = inf if nodes.troubled_at is None else now - nodes.troubled_at
        age = max(nodes.age(now), self._view.age_without_nodes(now))
        return Sight(age, VIEW_GOOD_FOR, calm_for, CALM_NEEDED)

    def busy(self, ward: Ward, now: float) -> Busy:
        return self.busy_by(self._view.remedies.all(), ward, now)

    def busy_by(self, records: Iterable[RemediationRecord], ward: Ward, now: float) -> Busy:
        """Machines whose owner is asked, and whoever has a remediation that goes on, by these."""
        here, fleet = self._home_of(ward.cluster), self._view.fleet
        named = [(record, *self._of(record)) for record in records]
        begun = fleet.begun(now, {name for _, _, name in named})
        by_owner = (str(key) for key in (*fleet.asked(), *begun) if self._home_of_machine(key) == here)
        by_remedy = ((name, record) for record, home, name in named if home == here)
        return self._view.remedies.busy(by_remedy, frozenset(by_owner), now)

    def control_plane(self, ward: Ward, busy: Busy) -> ControlPlane | None:
        if not ward.control_plane:
            return None
        members = self._members(ward.cluster)
        others = {name: ready for name, ready in members.items() if name != ward.name}
        working = sorted(busy.names & others.keys())
        return ControlPlane(len(members), sum(others.values()), working[0] if working else "")

    def _members(self, cluster: str) -> dict[str, bool]:
        """The control-plane machines of a cluster, with whether their nodes are Ready."""
        found = {}
        for key in self._view.fleet.in_cluster(cluster):
            machine = self._view.fleet.machine(key)
            if machine is not None and _is_control_plane(self._view, machine):
                found[str(key)] = _is_ready(node_of(self._view, machine))
        return found

    def _of(self, record: RemediationRecord) -> tuple[str, str]:
        """Where and whose it is. What belongs to no machine belongs to a node of our own cluster."""
        keys = (self._view.fleet.by_uid(uid) for uid in record.owners)
        key = next((key for key in keys if key is not None), None)
        return ("", record.name) if key is None else (self._home_of_machine(key), str(key))

    def _home_of_machine(self, key: MachineKey) -> str:
        machine = self._view.fleet.machine(key)
        return self._home_of(cluster_of(machine)) if machine is not None else ""

    def _home_of(self, cluster: str) -> str:
        """One name for our own cluster, whatever its Cluster is called."""
        return "" if self._view.clusters.is_own(cluster) else cluster


def _is_control_plane(view: MachineView, machine: MachineRecord) -> bool:
    """By the machine's own word, or by the roll of its cluster's nodes."""
    where = view.clusters.nodes_of(machine)
    return machine.control_plane or (isinstance(where, ClusterNodes) and where.seen.roll.has(machine.node))


def _is_ready(node: NodeRecord | None) -> bool:
    ready = node.condition("Ready") if node is not None else None
    return ready is not None and ready.status == ConditionStatus.TRUE


def _reading(check: MachineCheckRecord, policy: PolicyFacts | None) -> Reading:
    """A limit that says "or equal" is read so; of the others the policy tells how."""
    if check.rules.reading is Reading.STOPS_ABOVE or policy is None:
        return check.rules.reading
    return policy.machines.reading


def _pause(
    view: MachineView, check: MachineCheckRecord, machine: MachineRecord | None
) -> tuple[Pause | None, str]:
    """And what ends it. A claimed check is paused for the project that else would serve it, not for us."""
    if check.paused and not check.claimed:
        return Pause(reason=f"it has the annotation {PAUSED}"), "Take that off"
    if machine is None:
        return None, ""
    realm = view.fleet.realms.get(machine.resource.group)
    clusters = realm.clusters if realm is not None else None
    cluster = clusters.get(cluster_of(machine)) if clusters is not None else None
    if cluster is None or not cluster.paused:
        return None, ""
    return Pause(reason=f"its Cluster {cluster.name} is paused"), "Set spec.paused of that Cluster to false"
