"""Reads the inputs about one node from caches: enough to requeue and to evaluate, never enough to act on."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from nodemend.api import condition_types, well_known
from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import NodeHealthCheck, RecoveryPhase, TemplateReference
from nodemend.api.quantities import duration_seconds
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.upstream_types import ObjectReference
from nodemend.guard.evaluator import cache_freshness
from nodemend.guard.state import Busy, ControlPlaneIndex, GuardTarget, check_facts, maintained_by, selecting
from nodemend.health.conditions import ConditionTracker
from nodemend.health.remediation_index import RemediationIndex, existing_remediation
from nodemend.kube.store import Store
from nodemend.records.live_reads import record_excluded_by
from nodemend.records.node import EtcdPodRecord, NodeRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.node import (
    FastPathCheck,
    Healthy,
    NodeHealth,
    evaluate_health,
    fast_path_check,
    types_that_matter,
)
from nodemend.rules.request import DryRunAction, ExistingRemediation, Recovering, RemedyAttempt, RemedyPolicy
from nodemend.safety.guard import CacheFreshness, ControlPlane
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import Hold


class MachineLookup(Protocol):
    """The Machines behind this cluster's Nodes."""

    def uids_behind(self, node: str) -> frozenset[str]: ...

    def asked_nodes(self, now: float, records: Iterable[RemediationRecord]) -> frozenset[str]:
        """Return nodes whose Machine has a remediation in progress that is not among `records`."""
        ...

    def asked_behind(self, node: str) -> str:
        """Name the Machine owner that is requested to replace the node's Machine; empty if none."""
        ...


@dataclass(frozen=True, slots=True)
class NodeView:
    """The caches of this controller."""

    nodes: Store[NodeRecord]
    checks: Store[NodeHealthCheck]
    remedies: RemediationIndex
    policies: Store[RemediationPolicy]
    orders: Store[RemediationOrder]
    machines: MachineLookup | None = None
    etcd_pods: Store[EtcdPodRecord] | None = None
    """None if etcd Pods are not watched."""

    @property
    def synced(self) -> bool:
        caches = (self.nodes, self.checks, self.policies, self.orders)
        etcd_seen = self.etcd_pods is None or self.etcd_pods.synced_at is not None
        return etcd_seen and self.remedies.synced and all(cache.synced_at is not None for cache in caches)

    def age(self, now: float) -> float:
        """Return the age of the oldest cache in seconds."""
        caches = (self.nodes, self.checks, self.remedies, self.policies, self.orders)
        etcd_age = 0.0 if self.etcd_pods is None else self.etcd_pods.age(now)
        return max(etcd_age, *(cache.age(now) for cache in caches))


@dataclass(frozen=True, slots=True)
class NodeTarget:
    """A node under a check. `overlapping` names the other checks that select it."""

    node: NodeRecord
    check: NodeHealthCheck
    overlapping: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundRemediation:
    """A remediation of a target, and the index of the remedy it was made from."""

    record: RemediationRecord
    index: int


def find_target(view: NodeView, name: str) -> NodeTarget | None:
    """Return the node with the check that owns it: of several that select it, the first by name."""
    node = view.nodes.get(name)
    if node is None:
        return None
    mine = selecting(view.checks.all(), node.labels)
    if not mine:
        return None
    first, *others = mine
    return NodeTarget(node, first, tuple([check.metadata.name for check in others]))


def evaluate_target(target: NodeTarget, ages: ConditionTracker, now: float) -> NodeHealth:
    node, thresholds = target.node, target.check.spec.thresholds
    return evaluate_health(
        thresholds, ages.ages(node.uid, node.conditions, now, types_that_matter(thresholds))
    )


def find_remediation(view: NodeView, target: NodeTarget) -> FoundRemediation | None:
    """Return the remediation of the highest remedy.

    While a lower one is being deleted, no higher one exists.
    """
    if view.remedies.none_open:
        return None
    for index in reversed(range(len(target.check.spec.remedies))):
        template = target.check.spec.remedies[index].template
        record = view.remedies.find(template, template.namespace, target.node.name)
        if record is not None and not record.recovers:
            return FoundRemediation(record, index)
    return None


def find_recovery(view: NodeView, check: NodeHealthCheck, node: str, uid: str) -> RemediationRecord | None:
    """Return the recovery object that this check, or a deleted one of its name, made for this Node UID."""
    if check.spec.recovery is None:
        return None
    template = check.spec.recovery.template
    record = view.remedies.find(template, template.namespace, node)
    ours = record is not None and record.recovers and uid in record.owners
    return record if record is not None and ours and is_asked_for_by(check, record, view) else None


def recovery_written(check: NodeHealthCheck, node_uid: str) -> RecoveryPhase | None:
    """Return the phase of a node's recovery in the check's status."""
    return next((one.phase for one in check.status.recoveries if one.node_uid == node_uid), None)


def would_create(target: NodeTarget, template: TemplateReference) -> ObjectReference:
    return ObjectReference(
        api_version=template.api_version,
        kind=template.kind.removesuffix("Template"),
        name=target.node.name,
        namespace=template.namespace,
    )


def dry_run_action_for(target: NodeTarget, index: int, known: RemediationIndex) -> DryRunAction:
    """Describe the remediation that the remedy of this index would create."""
    remedies = target.check.spec.remedies
    template = remedies[index].template
    what = would_create(target, template)
    return DryRunAction(
        f"create a {what.kind} in {what.namespace} (remedy {index + 1} of {len(remedies)})",
        known.unusable(template) or known.missing(template),
    )


def is_asked_for_by(check: NodeHealthCheck, record: RemediationRecord, view: NodeView) -> bool:
    """Return whether this check, or a deleted one of its name, created the remediation."""
    asked_by = record.annotations.get(well_known.CHECK_UID, "")
    orphaned = all(other.metadata.uid != asked_by for other in view.checks.all())
    same_check = record.labels.get(well_known.CHECK) == check.metadata.name
    return asked_by == check.metadata.uid or (same_check and orphaned)


def as_existing(
    found: FoundRemediation, target: NodeTarget, view: NodeView, seconds: float
) -> ExistingRemediation:
    """Return the remediation as facts. `seconds` is how long Nodemend has observed it."""
    ours = is_asked_for_by(target.check, found.record, view)
    return existing_remediation(found.record, seconds, ours=ours, index=found.index)


def remedy_policy_of(target: NodeTarget) -> RemedyPolicy:
    spec = target.check.spec
    return RemedyPolicy(
        timeouts=tuple(
            duration_seconds(remedy.timeout) if remedy.timeout else None for remedy in spec.remedies
        ),
        healthy_delay=duration_seconds(spec.healthy_delay),
    )


def as_recovering(record: RemediationRecord, seconds: float) -> Recovering:
    """Return the recovery as facts. `seconds` is how long Nodemend has observed it."""
    succeeded = record.says(condition_types.SUCCEEDED)
    return Recovering(
        ending=record.deleting,
        succeeded=succeeded == ConditionStatus.TRUE,
        trying=RemedyAttempt(0, seconds, failed=succeeded == ConditionStatus.FALSE),
    )


def under_remediation(remediations: Iterable[RemediationRecord]) -> frozenset[str]:
    """Return the names of nodes with a remediation in progress."""
    return frozenset(record.name for record in remediations if record.goes_on)


def busy_nodes(view: NodeView, records: Collection[RemediationRecord], now: float) -> Busy:
    """Return all busy nodes: those of `records`, and those whose Machine is being remediated."""
    asked = view.machines.asked_nodes(now, records) if view.machines is not None else frozenset()
    return view.remedies.busy(((record.name, record) for record in records), asked, now)


class FastPath:
    """Finds healthy nodes without evaluating condition ages; most nodes are healthy."""

    def __init__(self, ages: ConditionTracker) -> None:
        self._ages = ages
        self._glances: dict[tuple[str, int], FastPathCheck] = {}
        """Compiled thresholds by the UID and generation of a check."""

    def finds_well(self, target: NodeTarget, now: float) -> bool:
        check = target.check
        version = check.metadata.uid, check.metadata.generation
        fast_check = self._glances.get(version)
        if fast_check is None:
            fast_check = self._glances[version] = fast_path_check(check.spec.thresholds)
        return fast_check.finds_well(target.node.conditions) or isinstance(
            evaluate_target(target, self._ages, now), Healthy
        )


def find_conflicting_remediation(
    view: NodeView, node: str, records: Iterable[RemediationRecord]
) -> Hold | None:
    """Return a hold if the node, or a Machine behind it, is already being remediated.

    A request to a Machine's owner to replace it counts too.
    """
    machines = view.machines
    behind = machines.uids_behind(node) if machines is not None else frozenset()
    for record in records:
        if record.name == node or not behind.isdisjoint(record.owners):
            return Hold(OtherRemediation(str(record)))
    asked = machines.asked_behind(node) if machines is not None else ""
    return Hold(OtherRemediation(asked)) if asked else None


@dataclass(frozen=True, slots=True)
class NodeGuardInputs:
    view: NodeView
    control_plane_index: ControlPlaneIndex

    @property
    def policies(self) -> Store[RemediationPolicy]:
        return self.view.policies

    def freshness(self, _guard_target: GuardTarget, now: float) -> CacheFreshness:
        return cache_freshness(self.view.nodes, self.view.age(now), now)

    def busy(self, _guard_target: GuardTarget, now: float) -> Busy:
        return busy_nodes(self.view, tuple(self.view.remedies.all()), now)

    def control_plane(self, guard_target: GuardTarget, busy: Busy) -> ControlPlane | None:
        return self.control_plane_index.around(guard_target.name, busy.names)


def guard_target_of(target: NodeTarget, wall: datetime) -> GuardTarget:
    return GuardTarget(
        name=target.node.name,
        labels=target.node.labels,
        check=check_facts(target.check, wall),
        excluded_by=record_excluded_by(target.node),
        maintained_by=maintained_by(target.check, target.node.conditions),
    )


def anybody_under(check: NodeHealthCheck, wall: datetime) -> GuardTarget:
    """Return a target without a node, for questions about the check as a whole."""
    return GuardTarget(name="", labels={}, check=check_facts(check, wall))
