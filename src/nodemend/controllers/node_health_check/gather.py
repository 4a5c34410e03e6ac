"""What one target looks like from our caches. Enough to wake us and to judge; never enough to act."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.event import ObjectReference
from nodemend.api.node_health_check import NodeHealthCheck, RecoveryPhase, TemplateReference
from nodemend.api.quantities import parse_duration
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.condition_ages import ConditionAges
from nodemend.controllers.checking.node_checks import selecting
from nodemend.controllers.checking.remedies import Remedies, RemedyKind
from nodemend.controllers.checking.ward import Busy
from nodemend.decide.dry_run import Wish
from nodemend.decide.escalation import Trying
from nodemend.decide.node_health import NodeHealth, judge, types_that_matter
from nodemend.decide.recovery import Recovering
from nodemend.decide.remediation_request import Open, Wishes
from nodemend.kube.etcd_pod_record import EtcdPodRecord
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.remediation_record import RemediationRecord


class MachinesBehind(Protocol):
    """The Machines whose Nodes ours are, where there are any."""

    def uids_behind(self, node: str) -> frozenset[str]: ...

    def asked_nodes(self, now: float, records: Iterable[RemediationRecord]) -> frozenset[str]:
        """The nodes for whose Machine something was asked of which these remediations do not tell."""
        ...

    def asked_behind(self, node: str) -> str:
        """One of them whose owner is asked to replace it; empty when none is."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """The caches that this controller lives on."""

    nodes: ObjectCache[NodeRecord]
    checks: ObjectCache[NodeHealthCheck]
    remedies: Remedies
    policies: ObjectCache[RemediationPolicy]
    orders: ObjectCache[RemediationOrder]
    machines: MachinesBehind | None = None
    etcd_pods: ObjectCache[EtcdPodRecord] | None = None
    """None where nobody watches them."""

    @property
    def synced(self) -> bool:
        caches = (self.nodes, self.checks, self.policies, self.orders)
        etcd_seen = self.etcd_pods is None or self.etcd_pods.synced_at is not None
        return etcd_seen and self.remedies.synced and all(cache.synced_at is not None for cache in caches)

    def age(self, now: float) -> float:
        """Of the oldest of them."""
        caches = (self.nodes, self.checks, self.remedies, self.policies, self.orders)
        etcd_age = 0.0 if self.etcd_pods is None else self.etcd_pods.age(now)
        return max(etcd_age, *(cache.age(now) for cache in caches))


@dataclass(frozen=True, slots=True)
class Target:
    """A node under a check."""

    node: NodeRecord
    check: NodeHealthCheck
    overlapping: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A remediation of a target, and the rung of its check's ladder that it is."""

    record: RemediationRecord
    index: int


def find_target(view: View, name: str) -> Target | None:
    """Of several checks that select a node, the first by name has it: one node, one owner."""
    node = view.nodes.get(name)
    if node is None:
        return None
    mine = selecting(view.checks.all(), node.labels)
    if not mine:
        return None
    first, *others = mine
    return Target(node, first, tuple([check.metadata.name for check in others]))


def rules_in_force(view: View) -> object:
    """Changes whenever who is whose target, or in which domain, may have changed for many at once."""
    checks = sorted((check.metadata.uid, check.metadata.generation) for check in view.checks.all())
    policy = view.policies.get(keys.POLICY_NAME)
    domains = policy.spec.failure_domains if policy is not None else None
    return tuple(checks), domains.key if domains is not None else ""


def judge_target(target: Target, ages: ConditionAges, now: float) -> NodeHealth:
    node, thresholds = target.node, target.check.spec.thresholds
    return judge(thresholds, ages.ages(node.uid, node.conditions, now, types_that_matter(thresholds)))


def find_remediation(view: View, target: Target) -> Found | None:
    """The highest rung at work: while a lower one ends, the next has not begun."""
    if view.remedies.none_open:
        return None
    for index in reversed(range(len(target.check.spec.remedies))):
        record = _made_from(view, target.check.spec.remedies[index].template, target.node.name)
        if record is not None and not record.recovers:
            return Found(record, index)
    return None


def find_recovery(view: View, check: NodeHealthCheck, node: str, uid: str) -> RemediationRecord | None:
    """What was made to recover that very node, by this check or one of its name that is gone."""
    if check.spec.recovery is None:
        return None
    record = _made_from(view, check.spec.recovery.template, node)
    ours = record is not None and record.recovers and uid in record.owners
    return record if record is not None and ours and is_asked_for_by(check, record, view) else None


def recovery_written(check: NodeHealthCheck, node_uid: str) -> RecoveryPhase | None:
    """Where the recovery of a node stands, by what the API server has."""
    return next((one.phase for one in check.status.recoveries if one.node_uid == node_uid), None)


def _made_from(view: View, template: TemplateReference, node: str) -> RemediationRecord | None:
    kind = view.remedies.kind_of(template)
    return view.remedies.find(kind, template.namespace, node) if isinstance(kind, RemedyKind) else None


def would_create(target: Target, template: TemplateReference) -> ObjectReference:
    return ObjectReference(
        api_version=template.api_version,
        kind=template.kind.removesuffix("Template"),
        name=target.node.name,
        namespace=template.namespace,
    )


def wish_for(target: Target, index: int, known: Remedies) -> Wish:
    """What is asked for by its remedy of this index."""
    remedies = target.check.spec.remedies
    template = remedies[index].template
    what = would_create(target, template)
    return Wish(
        f"create a {what.kind} in {what.namespace} (remedy {index + 1} of {len(remedies)})",
        known.unusable(template) or known.missing(template),
    )


def reference_to(record: RemediationRecord) -> ObjectReference:
    return ObjectReference(
        api_version=record.resource.api_version,
        kind=record.resource.kind,
        name=record.name,
        namespace=record.namespace,
    )


def is_asked_for_by(check: NodeHealthCheck, record: RemediationRecord, view: View) -> bool:
    """By the check itself, or by one of its name that is gone."""
    asked_by = record.annotations.get(keys.CHECK_UID, "")
    orphaned = all(other.metadata.uid != asked_by for other in view.checks.all())
    same_check = record.labels.get(keys.CHECK) == check.metadata.name
    return asked_by == check.metadata.uid or (same_check and orphaned)


def as_open(found: Found, target: Target, view: View, seconds: float) -> Open:
    """`seconds` is for how long we ourselves have seen it."""
    return _open(found, seconds, ours=is_asked_for_by(target.check, found.record, view))


def as_orphan(record: RemediationRecord) -> Open:
    """One that some check of ours asked for, and that is on no ladder now."""
    return _open(Found(record, 0), 0.0, ours=True)


def _open(found: Found, seconds: float, *, ours: bool) -> Open:
    record, succeeded = found.record, found.record.says("Succeeded")
    return Open(
        holder=str(record),
        ours=ours,
        ending=record.deleting,
        committed=record.says("Fenced") == ConditionStatus.TRUE,
        # Ours succeed when the node is back. Others' may say so when a reboot was asked for.
        finished=succeeded == ConditionStatus.TRUE and record.fences,
        trying=Trying(found.index, seconds, failed=succeeded == ConditionStatus.FALSE),
        order=record.annotations.get(keys.ORDER, ""),
        untouched=record.untouched,
    )


def wishes_of(target: Target) -> Wishes:
    spec = target.check.spec
    return Wishes(
        timeouts=tuple(_seconds(remedy.timeout) if remedy.timeout else None for remedy in spec.remedies),
        healthy_delay=_seconds(spec.healthy_delay),
    )


def as_recovering(record: RemediationRecord, seconds: float) -> Recovering:
    """`seconds` is for how long we ourselves have seen it."""
    succeeded = record.says("Succeeded")
    return Recovering(
        ending=record.deleting,
        succeeded=succeeded == ConditionStatus.TRUE,
        trying=Trying(0, seconds, failed=succeeded == ConditionStatus.FALSE),
    )


def _seconds(written: str) -> float:
    return parse_duration(written).total_seconds()


def under_remediation(remediations: Iterable[RemediationRecord]) -> frozenset[str]:
    """Nodes with a remediation that goes on."""
    return frozenset(record.name for record in remediations if record.goes_on)


def busy_nodes(view: View, records: Collection[RemediationRecord], now: float) -> Busy:
    """All for which something goes on, by these remediations or by the owner of a Machine."""
    asked = view.machines.asked_nodes(now, records) if view.machines is not None else frozenset()
    return view.remedies.busy(((record.name, record) for record in records), asked, now)
