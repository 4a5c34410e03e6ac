"""Reads the inputs about one Machine from caches: enough to requeue and to evaluate, never enough to act on.

Only the Machines whose owners are requested to act are listed live, for the start of a leader term. An
ignored annotation that requests a remediation is reported once per request and reason.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from nodemend.api import well_known
from nodemend.api.meta import Pause
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.guard.evaluator import cache_freshness, domain_key
from nodemend.guard.state import Busy, GuardTarget, is_ready
from nodemend.health.conditions import ConditionTracker, read_status
from nodemend.health.machine import external_annotation
from nodemend.health.machine.annotation import AnnotationRemediation, ByAnnotation, evaluate_annotated
from nodemend.health.machine.external_annotation import answers_to
from nodemend.health.machine.index import MachineCheckKey, MachineIndex, MachineKey, cluster_of, key_of
from nodemend.health.machine.request import ByDeletion, ByNobody, ByOwner, ByTemplate, RemediationPath
from nodemend.health.machine.workload_clusters import (
    ClusterNodes,
    Clusters,
    ClusterUnreachable,
    NodesNotVisible,
)
from nodemend.health.remediation_index import RemediationIndex, existing_remediation
from nodemend.kube.client import list_all
from nodemend.kube.outcome import Ok
from nodemend.kube.store import Store
from nodemend.records.live_reads import LiveReader, record_excluded_by
from nodemend.records.machine import (
    CLUSTER_API,
    PAUSED,
    MachineApiFlavor,
    MachineCheckRecord,
    MachineRecord,
    MachineWire,
    as_machine,
)
from nodemend.records.node import EtcdPodRecord, NodeRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.machine import (
    MachineFacts,
    NodeAwaited,
    NodeFound,
    NodeMissing,
    NodeSeen,
    NodeUnseen,
    evaluate_machine_health,
)
from nodemend.rules.node import ConditionSeen, NodeHealth
from nodemend.rules.request import ExistingRemediation
from nodemend.safety.facts import PolicyFacts, Unreadable
from nodemend.safety.guard import CacheFreshness, CacheUnavailable, CheckFacts, ControlPlane
from nodemend.safety.limits import LimitSemantics

WITHIN = 120.0
"""Seconds that a list of all Machines may take."""


async def list_asked(reader: LiveReader, machine_index: MachineIndex) -> frozenset[MachineKey] | Unreadable:
    """Return these Machines' keys, or Unreadable if any list failed."""
    asked: set[MachineKey] = set()
    for machine_kind in list(machine_index.machine_kinds.values()):
        if not machine_kind.flavor.owners_read_conditions:
            continue
        deadline = reader.runtime.monotonic() + WITHIN
        outcome = await list_all(reader.client, machine_kind.resource, MachineWire, deadline=deadline)
        if not isinstance(outcome, Ok):
            return Unreadable(str(outcome))
        machines = (as_machine(machine_kind.resource, machine_kind.flavor, wire) for wire in outcome.value)
        asked |= {key_of(machine) for machine in machines if machine.marks.asks_owner}
    return frozenset(asked)


@dataclass(slots=True)
class MachineObservations:
    """Observations of Machines by one replica; all times are monotonic."""

    ages: ConditionTracker = field(default_factory=ConditionTracker)
    _waiting: dict[str, float] = field(default_factory=dict)
    _asked: dict[str, tuple[str, float]] = field(default_factory=dict)

    def awaited(self, uid: str, *, could_start: bool, now: float) -> float:
        """Return the seconds since the Machine could have had a node, but had none."""
        if not could_start:
            self._waiting.pop(uid, None)
            return 0.0
        return now - self._waiting.setdefault(uid, now)

    def asked_for(self, machine: MachineRecord, now: float) -> float | None:
        """Return the seconds since the annotation has had its current value; None without the annotation."""
        value = machine.asked_externally
        if value is None:
            self._asked.pop(machine.uid, None)
            return None
        known = self._asked.get(machine.uid)
        if known is None or known[0] != value:
            known = self._asked[machine.uid] = value, now
        return now - known[1]

    def forget(self, uid: str) -> None:
        self.ages.forget(uid)
        self._waiting.pop(uid, None)
        self._asked.pop(uid, None)


@dataclass(frozen=True, slots=True)
class MachineView:
    machine_index: MachineIndex
    clusters: Clusters
    remedies: RemediationIndex
    policies: Store[RemediationPolicy]
    etcd_pods: Store[EtcdPodRecord]

    def age(self, now: float) -> float:
        """Return the oldest cache's age in seconds. Nodes of other clusters have their own ages."""
        return max(self.clusters.own.nodes.age(now), self.age_without_nodes(now))

    def age_without_nodes(self, now: float) -> float:
        caches = [self.remedies.age(now), self.policies.age(now), self.etcd_pods.age(now)]
        for machine_kind in self.machine_index.machine_kinds.values():
            caches.append(machine_kind.machines.age(now))
            if machine_kind.clusters is not None:
                caches.append(machine_kind.clusters.age(now))
        caches.extend(check_kind.checks.age(now) for check_kind in self.machine_index.check_kinds.values())
        return max(caches)

    @property
    def synced(self) -> bool:
        caches = (self.clusters.own.nodes, self.policies, self.etcd_pods)
        cached = all(cache.synced_at is not None for cache in caches)
        return cached and self.remedies.synced and self.machine_index.settled

    def current_rules(self) -> object:
        """Return a value that changes if the check or failure domain of many targets may have changed."""
        check_kinds = sorted(
            (check_kind.group, check_kind.of, check_kind.only_claimed)
            for check_kind in self.machine_index.check_kinds.values()
        )
        machine_kinds = sorted(self.machine_index.machine_kinds)
        return (
            self.machine_index.rules,
            tuple(check_kinds),
            tuple(machine_kinds),
            domain_key(self.policies),
        )


@dataclass(frozen=True, slots=True)
class MachineTarget:
    """A Machine and the check that owns it; `overlapping` are other checks that also select it."""

    key: MachineKey
    machine: MachineRecord
    check_key: MachineCheckKey
    check: MachineCheckRecord
    flavor: MachineApiFlavor
    overlapping: tuple[MachineCheckKey, ...] = ()

    @property
    def by_annotation(self) -> bool:
        """True if no check selects the Machine, so that only an annotation can request its remediation."""
        return external_annotation.is_annotation(self.check_key)


def find_target(machine_index: MachineIndex, key: MachineKey) -> MachineTarget | None:
    """Return a Machine's target, or None. The first check by name owns a Machine that several select."""
    machine, machine_kind = machine_index.machine(key), machine_index.machine_kinds.get(key.group)
    if machine is None or machine_kind is None or machine.left_alone_by:
        return None
    mine = sorted(
        ((at, check) for at, check in machine_index.checks_for(machine) if selects(check, machine)),
        key=lambda found: (found[1].name, found[0].group),
    )
    if not mine:
        return _without_check(machine_index, key, machine, machine_kind.flavor)
    (at, check), *others = mine
    return MachineTarget(key, machine, at, check, machine_kind.flavor, tuple(other for other, _ in others))


def _without_check(
    machine_index: MachineIndex, key: MachineKey, machine: MachineRecord, flavor: MachineApiFlavor
) -> MachineTarget | None:
    if not machine_index.annotation:
        return None
    asked_by = external_annotation.as_check(machine, machine_index.annotation)
    return MachineTarget(key, machine, external_annotation.check_key_for(machine), asked_by, flavor)


def needs_nodes(view: MachineView, cluster: str) -> bool:
    """True for another cluster with an initialized control plane and at least one target."""
    machine_index = view.machine_index
    known = machine_index.cluster(cluster)
    return (
        known is not None
        and known.control_plane_initialized
        and not view.clusters.is_own(cluster)
        and any(find_target(machine_index, key) is not None for key in machine_index.in_cluster(cluster))
    )


def machine_facts(
    view: MachineView, target: MachineTarget, seen: MachineObservations, now: float
) -> MachineFacts:
    machine = target.machine
    not_yet = _not_yet(view, target)
    node = see_node(view, machine, now)
    waits = node is None and not not_yet
    could_start = waits and (machine.infrastructure_ready or not target.flavor.has_clusters)
    awaited = seen.awaited(machine.uid, could_start=could_start, now=now)
    return MachineFacts(
        node=NodeAwaited(awaited) if node is None else node,
        conditions=_machine_conditions(target, seen.ages, now),
        asked_by=machine.asked_by,
        asked_externally_for=seen.asked_for(machine, now),
        not_yet=not_yet,
        failed=machine.failed,
        deleting=machine.deleting,
    )


def evaluate_target(target: MachineTarget, facts: MachineFacts) -> NodeHealth:
    if target.by_annotation:
        return evaluate_annotated(facts)
    return evaluate_machine_health(target.check.rules, facts)


def see_node(view: MachineView, machine: MachineRecord, now: float) -> NodeSeen | None:
    """Return the node that a Machine names, if it is certainly the right one; None if it names none.

    While the Machine's cluster is unreachable, a missing node name proves nothing either: Cluster API may not
    reach the cluster, just like Nodemend.
    """
    where = view.clusters.nodes_of(machine)
    if isinstance(where, ClusterUnreachable):
        return NodeUnseen(where.why)
    if not machine.node:
        return None
    if isinstance(where, NodesNotVisible):
        return NodeUnseen(where.why)
    conflicts = [
        key
        for key in view.machine_index.naming(machine.node)
        if key != key_of(machine)
        and (other := view.machine_index.machine(key)) is not None
        and view.clusters.nodes_of(other) is where
    ]
    if conflicts:
        return NodeUnseen(f"{conflicts[0].namespace}/{conflicts[0].name} names the Node {machine.node} too")
    node = where.nodes.get(machine.node)
    if node is None:
        return NodeMissing(machine.node)
    if machine.provider_id and node.provider_id and machine.provider_id != node.provider_id:
        return NodeUnseen(f"the Node {node.name} has the provider ID of another machine")
    return NodeFound(where.seen.ages.ages(node.uid, node.conditions, now))


def way_of(
    view: MachineView, target: MachineTarget, policy: PolicyFacts | None, now: float
) -> RemediationPath:
    """Return how an unhealthy target is remediated: by its owner, a template, deletion, or not at all."""
    machine, delay = target.machine, policy.machines.healthy_delay if policy is not None else 0.0
    if target.by_annotation:
        return _by_annotation(view, target, delay, now)
    if target.check.rules.template is not None:
        record = find_remediation(view, target)
        if record is None:
            return ByTemplate(None, delay)
        return ByTemplate(as_existing(target, record, view.remedies.seen_for(record, now)), delay)
    if machine.owner is None:
        return ByNobody("no controller owns it")
    if target.flavor.owners_read_conditions:
        return ByOwner()
    if policy is not None and policy.machines.delete:
        return ByDeletion()
    return ByNobody(f"its {machine.owner.kind} does not read conditions, and machines may not be deleted")


def _by_annotation(view: MachineView, target: MachineTarget, delay: float, now: float) -> ByAnnotation:
    """Return the annotation's state. Remediations by other requests are left alone, even of this Machine."""
    asking, record = external_annotation.asking_of(target.machine), find_remediation(view, target)
    if record is None:
        return ByAnnotation(asking, None, "", delay)
    existing = as_existing(target, record, view.remedies.seen_for(record, now))
    to = external_annotation.answers_to(record)
    if not existing.ours or to is None:
        return ByAnnotation(asking, None, existing.holder, delay)
    return ByAnnotation(asking, AnnotationRemediation(existing, to), "", delay)


def find_remediation(view: MachineView, target: MachineTarget) -> RemediationRecord | None:
    template = target.check.rules.template
    if template is None:
        return None
    return view.remedies.find(template, target.machine.namespace, target.machine.name)


def as_existing(target: MachineTarget, record: RemediationRecord, seconds: float) -> ExistingRemediation:
    """Return the state of an existing remediation.

    It counts as Nodemend's own if this Machine owns it, regardless of the check that requested it. For an
    annotation, only if the annotation requested it, because it may withdraw no other.
    """
    theirs = target.by_annotation and external_annotation.answers_to(record) is None
    return existing_remediation(record, seconds, ours=target.machine.uid in record.owners and not theirs)


def abandoned(
    view: MachineView, machine: MachineRecord, target: MachineTarget | None
) -> list[RemediationRecord]:
    """Return Nodemend's remediations of a Machine that its check, if any, does not request any longer."""
    wanted = find_remediation(view, target) if target is not None else None
    if target is not None and wanted is not None and not as_existing(target, wanted, 0.0).ours:
        wanted = None
    return [
        record
        for record in view.remedies.all()
        if record.name == machine.name
        and machine.uid in record.owners
        and well_known.CHECK_UID in record.annotations
        and record != wanted
        and not record.deleting
    ]


def selects(check: MachineCheckRecord, machine: MachineRecord) -> bool:
    """True if the check selects the Machine. Cluster API rejects an empty selector: it selects nothing."""
    all_without_demand = check.resource.group != CLUSTER_API
    return check.rules.selects(machine.cluster, machine.labels, all_without_demand=all_without_demand)


def _not_yet(view: MachineView, target: MachineTarget) -> str:
    """Return why the Machine cannot be expected to be healthy yet; "" if it can."""
    machine_kind = view.machine_index.machine_kinds[target.key.group]
    if machine_kind.clusters is None or not target.machine.cluster:
        return ""
    cluster = machine_kind.clusters.get(cluster_of(target.machine))
    if cluster is None:
        return f"its Cluster {target.machine.cluster} is not there"
    if not cluster.infrastructure_ready:
        return "the infrastructure of its Cluster is not ready"
    if not cluster.control_plane_initialized and not target.machine.control_plane:
        return "the control plane of its Cluster is not up yet"
    return ""


def _machine_conditions(
    target: MachineTarget, ages: ConditionTracker, now: float
) -> tuple[ConditionSeen, ...]:
    """Return the conditions that the check uses: a Machine has a dozen, and most checks use none of them."""
    asked = {watched.type for watched in target.check.rules.of_machine}
    if not asked:
        return ()
    shown = target.machine.conditions
    times = ages.since(target.machine.uid, shown, now)
    return tuple(
        ConditionSeen(one.type, read_status(one.status), now - since, one.reason)
        for one, since in zip(shown, times, strict=True)
        if one.type in asked
    )


def find_conflicting_remediation(
    view: MachineView, target: MachineTarget, records: Iterable[RemediationRecord]
) -> RemediationRecord | None:
    """Return a conflicting remediation of this Machine, or of its node in the local cluster; or None."""
    return next((record for record in records if _is_conflicting(view, target, record)), None)


def _is_conflicting(view: MachineView, target: MachineTarget, record: RemediationRecord) -> bool:
    machine = target.machine
    if machine.uid in record.owners:
        return target.by_annotation and answers_to(record) is None
    if record.namespace == machine.namespace and record.name == machine.name:
        return True
    if view.clusters.is_elsewhere(cluster_of(machine)):
        return False
    of_a_machine = any(view.machine_index.by_uid(uid) is not None for uid in record.owners)
    return bool(machine.node) and record.name == machine.node and not of_a_machine


@dataclass(eq=False, slots=True)
class IgnoredAnnotations:
    """Tracks which ignored requests were reported in this leader term."""

    machine_index: MachineIndex
    tell: Callable[[MachineRecord, str], None]
    _reported: dict[MachineKey, tuple[str, str]] = field(default_factory=dict)

    def evaluate(self, key: MachineKey, machine: MachineRecord | None, target: MachineTarget | None) -> None:
        asked = machine.asked_externally if machine is not None else None
        why = _why(machine, target) if machine is not None else ""
        if not self.machine_index.annotation or machine is None or asked is None or not why:
            self._reported.pop(key, None)
        elif self._reported.get(key) != (asked, why):
            self._reported[key] = asked, why
            self.tell(machine, why)


def _why(machine: MachineRecord, target: MachineTarget | None) -> str:
    """Return why the annotation is ignored; "" if it is respected."""
    if target is None:
        return f"it has the annotation {machine.left_alone_by}" if machine.left_alone_by else ""
    return (
        ""
        if target.by_annotation
        else f"mhc/{target.check.name} selects it, and heals it when it is unhealthy"
    )


ZONE = "topology.kubernetes.io/zone"


def guard_target_of(view: MachineView, target: MachineTarget, policy: PolicyFacts | None) -> GuardTarget:
    machine = target.machine
    node = node_of(view, machine)
    zone = {ZONE: machine.failure_domain} if machine.failure_domain else {}
    return GuardTarget(
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


@dataclass(frozen=True, slots=True)
class MachineGuardInputs:
    """The guard's inputs beside a Machine."""

    view: MachineView

    @property
    def policies(self) -> Store[RemediationPolicy]:
        return self.view.policies

    def freshness(self, guard_target: GuardTarget, now: float) -> CacheFreshness | CacheUnavailable:
        """Return the freshness of the caches of the target's own cluster, and of those without Nodes."""
        nodes = self.view.clusters.cache_of(guard_target.cluster)
        if isinstance(nodes, ClusterUnreachable):
            return CacheUnavailable(nodes.why)
        return cache_freshness(nodes, max(nodes.age(now), self.view.age_without_nodes(now)), now)

    def busy(self, guard_target: GuardTarget, now: float) -> Busy:
        return self.busy_by(self.view.remedies.all(), guard_target, now)

    def busy_by(self, records: Iterable[RemediationRecord], guard_target: GuardTarget, now: float) -> Busy:
        """Return Machines with an owner request, and targets with an open remediation in `records`."""
        here, machine_index = self._home_of(guard_target.cluster), self.view.machine_index
        named = [(record, *self._of(record)) for record in records]
        begun = machine_index.begun(now, {name for _, _, name in named})
        by_owner = (
            str(key) for key in (*machine_index.asked(), *begun) if self._home_of_machine(key) == here
        )
        by_remedy = ((name, record) for record, home, name in named if home == here)
        return self.view.remedies.busy(by_remedy, frozenset(by_owner), now)

    def control_plane(self, guard_target: GuardTarget, busy: Busy) -> ControlPlane | None:
        if not guard_target.control_plane:
            return None
        members = self._members(guard_target.cluster)
        others = {name: ready for name, ready in members.items() if name != guard_target.name}
        working = sorted(busy.names & others.keys())
        return ControlPlane(len(members), sum(others.values()), working[0] if working else "")

    def _members(self, cluster: str) -> dict[str, bool]:
        """Return the control-plane Machines of a cluster, with the readiness of their nodes."""
        found = {}
        for key in self.view.machine_index.in_cluster(cluster):
            machine = self.view.machine_index.machine(key)
            if machine is not None and _is_control_plane(self.view, machine):
                node = node_of(self.view, machine)
                found[str(key)] = node is not None and is_ready(node)
        return found

    def _of(self, record: RemediationRecord) -> tuple[str, str]:
        """Return a remediation's cluster and target: its Machine, or else a node of the local cluster."""
        keys = (self.view.machine_index.by_uid(uid) for uid in record.owners)
        key = next((key for key in keys if key is not None), None)
        return ("", record.name) if key is None else (self._home_of_machine(key), str(key))

    def _home_of_machine(self, key: MachineKey) -> str:
        machine = self.view.machine_index.machine(key)
        return self._home_of(cluster_of(machine)) if machine is not None else ""

    def _home_of(self, cluster: str) -> str:
        """Return a cluster's name; "" for the local cluster, regardless of its Cluster object's name."""
        return "" if self.view.clusters.is_own(cluster) else cluster


def _is_control_plane(view: MachineView, machine: MachineRecord) -> bool:
    """True if the Machine says so, or if its node is in its cluster's control-plane index."""
    where = view.clusters.nodes_of(machine)
    return machine.control_plane or (
        isinstance(where, ClusterNodes) and where.seen.control_plane_index.has(machine.node)
    )


def _reading(check: MachineCheckRecord, policy: PolicyFacts | None) -> LimitSemantics:
    """Return a limit's semantics. A field defined as "or equal" keeps it; the policy decides for others."""
    if check.rules.reading is LimitSemantics.ABOVE_LIMIT or policy is None:
        return check.rules.reading
    return policy.machines.reading


def _pause(
    view: MachineView, check: MachineCheckRecord, machine: MachineRecord | None
) -> tuple[Pause | None, str]:
    """Return the pause and the instruction that ends it.

    A claimed check is paused only for the project that would serve it otherwise, not for Nodemend.
    """
    if check.paused and not check.claimed:
        return Pause(reason=f"it has the annotation {PAUSED}"), "Take that off"
    cluster = view.machine_index.cluster(cluster_of(machine)) if machine is not None else None
    if cluster is None or not cluster.paused:
        return None, ""
    return Pause(reason=f"its Cluster {cluster.name} is paused"), "Set spec.paused of that Cluster to false"
