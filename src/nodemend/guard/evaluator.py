"""Evaluates the guard for a target, from counts that are updated with each change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final, Protocol

from nodemend.api import condition_types, well_known
from nodemend.api.meta import ConditionStatus, find
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.guard.state import (
    Busy,
    CountScope,
    GuardTarget,
    PlacedTarget,
    PreviousState,
    StormScope,
    StormScopeKind,
    StormTracker,
    TargetIndex,
    TargetState,
    TargetStatus,
)
from nodemend.kube.store import Store
from nodemend.records.live_reads import policy_facts
from nodemend.records.node import NodeRecord
from nodemend.safety.facts import Absent, PolicyFacts, Present, ReadResult
from nodemend.safety.guard import (
    Allowed,
    CacheFreshness,
    CacheUnavailable,
    ControlPlane,
    Domain,
    GuardFacts,
    HealthCounts,
    guard,
)
from nodemend.safety.guard_holds import PolicyProblem
from nodemend.safety.holds import Hold
from nodemend.safety.limits import LimitComparison, LimitSemantics, closed

VIEW_GOOD_FOR: Final = 90.0
"""Seconds without contact to the API server after which a cache is stale; bookmarks come once a minute."""
CALM_NEEDED: Final = 20.0
"""Seconds without a failed read of Nodes before the guard acts on what they report."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The current time by the monotonic clock, and by the wall clock, which only ends pauses."""

    now: float
    wall: datetime


class GuardInputs(Protocol):
    """The inputs of the guard beside the target itself."""

    @property
    def policies(self) -> Store[RemediationPolicy]: ...

    def freshness(self, guard_target: GuardTarget, now: float) -> CacheFreshness | CacheUnavailable: ...

    def busy(self, guard_target: GuardTarget, now: float) -> Busy:
        """Return the targets under remediation in the guard target's cluster."""
        ...

    def control_plane(self, guard_target: GuardTarget, busy: Busy) -> ControlPlane | None:
        """Return the control plane of the guard target's cluster, or None if the target is not part of it."""
        ...


class HasLabels(Protocol):
    """An object with labels. Reading them may be expensive."""

    @property
    def labels(self) -> Mapping[str, str]: ...


class GuardEvaluator:
    """The guard's counts and state for one leader term."""

    def __init__(
        self,
        around: GuardInputs,
        *,
        now: float,
        last_start: float,
        problem: Callable[[], PolicyProblem | None] = lambda: None,
    ) -> None:
        """The leader term begins `now`. A storm or a cooldown before it starts a cooldown.

        `problem` returns the reason why the admission policies cannot be relied on, or None.
        """
        self._policy_problem = problem
        self.target_index = TargetIndex()
        self.last_start = last_start
        self._around = around
        self._storm_tracker = StormTracker(stormy_before=storm_before(around.policies), now=now)
        self._known: tuple[RemediationPolicy | None, ReadResult[PolicyFacts]] = None, Absent()

    def policy(self, moment: Clocks) -> ReadResult[PolicyFacts]:
        """Return the policy's facts. They are parsed once per version, since every target needs them."""
        found = self._around.policies.get(well_known.POLICY_NAME)
        if found is not self._known[0] or (found is not None and found.spec.pause is not None):
            self._known = found, Absent() if found is None else Present(policy_facts(found, moment.wall))
        facts, problem = self._known[1], self._policy_problem()
        return (
            Present(replace(facts.value, problem=problem))
            if problem and isinstance(facts, Present)
            else facts
        )

    def place_target(self, target: GuardTarget, moment: Clocks) -> PlacedTarget:
        return PlacedTarget(target, self.place(target.check.name, target, moment, target.cluster))

    def place(self, check: str, who: HasLabels, moment: Clocks, cluster: str = "") -> CountScope:
        """Return the scopes in which a target is counted."""
        policy = self.policy(moment)
        domains = policy.value.domains if isinstance(policy, Present) else None
        return CountScope(check, who.labels.get(domains.key, "") if domains is not None else "", cluster)

    def count(self, placed: PlacedTarget, *, healthy: bool) -> PreviousState | None:
        """Count a target that is not healthy as unhealthy, before the guard reads the counts.

        Return its state before.
        """
        name = placed.target.name
        before = self.target_index.previous(name)
        if not healthy and (before is None or before[1].state is TargetState.HEALTHY):
            self.target_index.upsert(name, placed.place, TargetStatus(TargetState.UNHEALTHY))
        return before

    def update_storms(self, placed: PlacedTarget, moment: Clocks) -> None:
        """Update the storm state of each scope in which this target is counted."""
        policy = self.policy(moment)
        if isinstance(policy, Present):
            for scope, active in self._storms(placed.target, placed.place, policy.value):
                self._storm_tracker.update(scope, active=active, now=moment.now)

    def evaluate(self, placed: PlacedTarget, moment: Clocks, busy: Busy | None = None) -> GuardFacts:
        """Return the guard's facts. `busy` comes from a live read if given, otherwise from the caches."""
        guard_target, place, policy = placed.target, placed.place, self.policy(moment)
        settle_time = policy.value.settle_time if isinstance(policy, Present) else 0.0
        busy = self._around.busy(guard_target, moment.now) if busy is None else busy
        domain = place.domain and self._domain(guard_target, place, busy)
        return GuardFacts(
            policy=policy,
            freshness=self._around.freshness(guard_target, moment.now),
            check=guard_target.check,
            of_check=self.target_index.health_counts_of_check(place.check),
            of_cluster=self.target_index.health_counts_of_cluster(place.cluster),
            of_domain=domain or None,
            others=Present(len(busy.names - busy.released - busy.unserved - {guard_target.name})),
            released=len(busy.released - {guard_target.name}),
            control_plane=self._around.control_plane(guard_target, busy),
            cooldown=self._storm_tracker.cooldown(_scopes(place), settle_time, moment.now),
            since_last_start=moment.now - self.last_start,
            excluded_by=guard_target.excluded_by,
            maintained_by=guard_target.maintained_by,
        )

    def _domain(self, guard_target: GuardTarget, place: CountScope, busy: Busy) -> Domain:
        """Return the domain's counts for the guard, in which only remediations that occupy a slot count.

        The counts of the target index include all targets under remediation.
        """
        health_counts = self.target_index.health_counts_of_domain(place)

        def here(names: frozenset[str]) -> int:
            previous = (self.target_index.previous(name) for name in names - {guard_target.name})
            return sum(
                one is not None
                and one[0].domain == place.domain
                and one[0].cluster == place.cluster
                and one[1].state is TargetState.REMEDIATING
                for one in previous
            )

        released = here(busy.released)
        in_progress = health_counts.remediating - released - here(busy.unserved)
        return Domain(place.domain, replace(health_counts, remediating=in_progress), released)

    def of_check(self, anybody: GuardTarget, moment: Clocks) -> Allowed | Hold:
        """Evaluate the guard for a check as a whole, for its status. The start interval is left out."""
        placed = PlacedTarget(anybody, CountScope(anybody.check.name, cluster=anybody.cluster))
        return guard(replace(self.evaluate(placed, moment), since_last_start=inf))

    def storm_state(self, moment: Clocks) -> str:
        """Return the most severe storm state of all scopes: active, cooldown, or "" for neither."""
        return self._storm_tracker.storm_state(self.settle_time(moment), moment.now)

    def settle_time(self, moment: Clocks) -> float:
        """Return the length of a cooldown in seconds; zero without a readable policy."""
        policy = self.policy(moment)
        return policy.value.settle_time if isinstance(policy, Present) else 0.0

    def _storms(
        self, guard_target: GuardTarget, place: CountScope, policy: PolicyFacts
    ) -> Iterator[tuple[StormScope, bool]]:
        of_cluster, of_check, of_domain = _scopes(place)
        yield (
            of_cluster,
            _rages(policy.max_unhealthy, self.target_index.health_counts_of_cluster(place.cluster)),
        )
        if guard_target.check.gate is not None:
            yield (
                of_check,
                _rages(guard_target.check.gate, self.target_index.health_counts_of_check(place.check)),
            )
        if policy.domains is not None and place.domain:
            here = self.target_index.health_counts_of_domain(place)
            rages = here.total >= policy.domains.min_nodes and _rages(policy.domains.max_unhealthy, here)
            yield of_domain, rages


def _scopes(place: CountScope) -> tuple[StormScope, StormScope, StormScope]:
    return (
        StormScope(StormScopeKind.CLUSTER, place.cluster),
        StormScope(StormScopeKind.CHECK, place.check),
        StormScope(StormScopeKind.DOMAIN, place.domain, place.cluster),
    )


def _rages(gate: LimitComparison, health_counts: HealthCounts) -> bool:
    """Return True if the limit is closed by more than one unhealthy target.

    A limit that a single unhealthy node closes is not a storm and needs no cooldown.
    """
    return health_counts.unhealthy > 1 and closed(
        gate, health_counts.unhealthy, health_counts.total, LimitSemantics.ALLOW_ONE
    )


def cache_freshness(nodes: Store[NodeRecord], age: float, now: float) -> CacheFreshness:
    """Return the freshness of caches of this age, with the time since a read of the Nodes last failed."""
    error_free_for = inf if nodes.troubled_at is None else now - nodes.troubled_at
    return CacheFreshness(age, VIEW_GOOD_FOR, error_free_for, CALM_NEEDED)


def domain_key(policies: Store[RemediationPolicy]) -> str:
    """Return the label key of the failure domains; empty if the policy has none."""
    policy = policies.get(well_known.POLICY_NAME)
    domains = policy.spec.failure_domains if policy is not None else None
    return domains.key if domains is not None else ""


def current_rules(checks: Store[NodeHealthCheck], policies: Store[RemediationPolicy]) -> object:
    """Return a value that changes if many nodes may have a new check or failure domain."""
    known = sorted((check.metadata.uid, check.metadata.generation) for check in checks.all())
    return tuple(known), domain_key(policies)


def storm_before(policies: Store[RemediationPolicy]) -> bool:
    """Return True if the previous leader reported an active storm or a cooldown."""
    policy = policies.get(well_known.POLICY_NAME)
    storm = find(policy.status.conditions, condition_types.STORM) if policy is not None else None
    return storm is not None and storm.status is ConditionStatus.TRUE
