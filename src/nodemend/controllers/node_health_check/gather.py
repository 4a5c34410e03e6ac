"""What one target looks like from our caches. Enough to wake us and to judge; never enough to act."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from nodemend.api import keys
from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.quantities import parse_duration
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.fresh_reads import policy_facts
from nodemend.controllers.node_health_check.condition_ages import ConditionAges, Reported
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen
from nodemend.decide.label_match import matches
from nodemend.decide.node_health import NodeHealth, judge
from nodemend.decide.remediation_request import Open
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache

"""Seconds without a sign from the API server after which our view is stale: a bookmark comes each minute."""


@dataclass(frozen=True, slots=True)
class View:
    """The caches that this controller lives on."""

    nodes: ObjectCache[NodeRecord]
    checks: ObjectCache[NodeHealthCheck]
    remediations: ObjectCache[ManualRemediation]
    policies: ObjectCache[RemediationPolicy]

    @property
    def synced(self) -> bool:
        caches = (self.nodes, self.checks, self.remediations, self.policies)
        return all(cache.synced_at is not None for cache in caches)

    def age(self, now: float) -> float:
        """Of the oldest of them."""
        return max(
            self.nodes.age(now), self.checks.age(now), self.remediations.age(now), self.policies.age(now)
        )


@dataclass(frozen=True, slots=True)
class Target:
    """A node under a check."""

    node: NodeRecord
    check: NodeHealthCheck
    overlapping: tuple[str, ...]


def find_target(view: View, name: str) -> Target | None:
    """Of several checks that select a node, the first by name has it: one node, one owner."""
    node = view.nodes.get(name)
    if node is None:
        return None
    labels = dict(node.labels)
    mine = sorted(
        (check for check in view.checks.all() if matches(check.spec.selector, labels)),
        key=lambda check: check.metadata.name,
    )
    if not mine:
        return None
    return Target(node, mine[0], tuple(check.metadata.name for check in mine[1:]))


def judge_target(target: Target, ages: ConditionAges, now: float) -> NodeHealth:
    return judge(target.check.spec.thresholds, ages.ages(target.node.uid, reported(target.node), now))


def reported(node: NodeRecord) -> tuple[Reported, ...]:
    return tuple(
        Reported(condition.type, condition.status, condition.last_transition_time)
        for condition in node.conditions
    )


def remediation_key(target: Target) -> tuple[str, str]:
    """Namespace and name: beside its template, named like its node."""
    return target.check.spec.remedies[0].template.namespace, target.node.name


def open_remediation(view: View, target: Target) -> Open | None:
    namespace, name = remediation_key(target)
    found = view.remediations.get(f"{namespace}/{name}")
    return None if found is None else as_open(found, target, view)


def as_open(remediation: ManualRemediation, target: Target, view: View) -> Open:
    metadata, status = remediation.metadata, remediation.status
    asked_by = metadata.annotations.get(keys.CHECK_UID, "")
    orphaned = all(check.metadata.uid != asked_by for check in view.checks.all())
    same_check = metadata.labels.get(keys.CHECK) == target.check.metadata.name
    ours = asked_by == target.check.metadata.uid or (same_check and orphaned)
    return Open(
        holder=f"{MANUAL_REMEDIATION.kind} {metadata.namespace}/{metadata.name}",
        ours=ours,
        ending=metadata.deleting,
        committed=status.evidence is not None,
        finished=status.phase is Phase.SUCCEEDED,
    )


def healthy_delay(target: Target) -> float:
    return parse_duration(target.check.spec.healthy_delay).total_seconds()


def policy_in_view(view: View, wall: datetime) -> Seen[PolicyFacts]:
    found = view.policies.get(keys.POLICY_NAME)
    return Absent() if found is None else Present(policy_facts(found, wall))


def under_remediation(remediations: Iterable[ManualRemediation]) -> frozenset[str]:
    """Nodes with a remediation that goes on. One that has succeeded holds nobody up."""
    return frozenset(
        remediation.metadata.name
        for remediation in remediations
        if remediation.status.phase is not Phase.SUCCEEDED
    )
