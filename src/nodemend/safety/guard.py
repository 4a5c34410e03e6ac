"""The guard: decides whether the cluster as a whole allows one more remediation now.

The guard is an ordered list of checks; each has one reason to hold. It never undoes remediations that are in
progress, and clean-up does not ask it.

Pure: time is an argument. While a storm is active in a scope nothing starts there, nor during the cooldown
after it. A storm that ended is not replayed: when the cooldown is over, every target is evaluated by its
state at that time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api.meta import Pause
from nodemend.api.remediation_policy import Mode
from nodemend.safety import limits
from nodemend.safety.facts import Absent, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import (
    CheckDryRun,
    ControlPlaneBusy,
    CoolingDown,
    DryRun,
    Excluded,
    InMaintenance,
    Paused,
    QuorumAtRisk,
    RecentApiErrors,
    StartInterval,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
    UnsupportedSetting,
)
from nodemend.safety.holds import CacheStale, CannotRead, Hold, HoldReason
from nodemend.safety.limits import Between, LimitComparison, LimitSemantics, closed, max_allowed_unhealthy


@dataclass(frozen=True, slots=True)
class HealthCounts:
    """Health counts of a set of targets: all, not provably healthy, under remediation.

    `unhealthy` includes suspect and unjudged targets and those under remediation: counting only targets past
    their deadline would let a storm start one target at a time.
    """

    total: int
    unhealthy: int
    remediating: int


@dataclass(frozen=True, slots=True)
class Domain:
    """The failure domain of a target."""

    name: str
    health_counts: HealthCounts
    released: int = 0
    """Targets under remediation there whose workloads already run elsewhere; the health counts exclude
    them."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The control plane that a target belongs to."""

    total: int
    others_ready: int
    busy: str
    """Another member that is under remediation; empty if no other member is."""


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """Settings of a health check that restrict remediation."""

    name: str
    gate: LimitComparison | None = None
    reading: LimitSemantics = LimitSemantics.AT_LIMIT
    dry_run: bool = False
    pause: Pause | None = None
    unpause: str = ""
    """The user's action that ends the check's pause; empty if `kubectl mend resume` ends it."""
    unread: str = ""
    """Settings of the check that Nodemend cannot interpret."""


@dataclass(frozen=True, slots=True)
class CacheFreshness:
    """Cache freshness: the age of the cached view, and the seconds since the last API server error."""

    age: float
    age_limit: float
    error_free_for: float
    calm_needed: float


@dataclass(frozen=True, slots=True)
class CacheUnavailable:
    """The target's cluster cannot be observed, with the reason."""

    why: str


@dataclass(frozen=True, slots=True)
class GuardFacts:
    """All inputs of the guard for one target."""

    policy: ReadResult[PolicyFacts]
    freshness: CacheFreshness | CacheUnavailable
    check: CheckFacts
    of_check: HealthCounts
    of_cluster: HealthCounts
    of_domain: Domain | None
    others: ReadResult[int]
    """Other targets under remediation in the whole cluster, from their start to their release."""
    control_plane: ControlPlane | None
    """None if the target is not part of the control plane."""
    cooldown: float
    since_last_start: float
    excluded_by: str
    maintained_by: str
    released: int = 0
    """Further targets under remediation whose workloads already run elsewhere. They count if the policy
    says so."""


@dataclass(frozen=True, slots=True)
class Storm:
    """Storm state of one scope.

    `ended_at` is when the last storm was observed to end; None if there was no storm.
    """

    active: bool = False
    ended_at: float | None = None


CALM = Storm()


def step(storm: Storm, *, active: bool, now: float) -> Storm:
    """Return the storm state after one more evaluation."""
    if active:
        return Storm(active=True)
    return Storm(ended_at=now) if storm.active else storm


def cooldown(storm: Storm, settle_time: float, now: float) -> float:
    """Return the remaining seconds of the cooldown after a storm; 0 if there is no cooldown."""
    if storm.active or storm.ended_at is None:
        return 0.0
    return max(0.0, storm.ended_at + settle_time - now)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One more remediation may start."""


GuardCheck = Callable[[GuardFacts, PolicyFacts], HoldReason | None]


def guard(facts: GuardFacts, passing: tuple[type[HoldReason], ...] = ()) -> Allowed | Hold:
    """Return the first reason to hold, or Go. Reasons of the types in `passing` are skipped."""
    return next((Hold(reason) for reason in reasons(facts) if not isinstance(reason, passing)), Allowed())


def reasons(facts: GuardFacts) -> Iterator[HoldReason]:
    """Yield every reason to hold, the most severe first."""
    match facts.freshness:
        case CacheUnavailable(why):
            yield CannotRead("the Nodes of its cluster", why)
        case CacheFreshness(age, limit) if age > limit:
            yield CacheStale(age, limit)
        case CacheFreshness():
            pass
        case _:
            assert_never(facts.freshness)
    match facts.policy:
        case Unreadable(why):
            yield CannotRead("the RemediationPolicy", why)
        case Absent():
            yield DryRun(policy_exists=False)
        case Present(policy):
            answers = (question(facts, policy) for question in CHECKS)
            yield from (reason for reason in answers if reason is not None)


def in_flight_guard(policy: ReadResult[PolicyFacts]) -> Allowed | Hold:
    """Return whether a remediation in progress may take its next step: checks only mode and pause."""
    match policy:
        case Unreadable(why):
            return Hold(CannotRead("the RemediationPolicy", why))
        case Absent():
            return Hold(DryRun(policy_exists=False))
        case Present(allowed):
            stopped = _stopped(allowed)
            return Hold(stopped) if stopped is not None else Allowed()


def check_quorum(around: ReadResult[ControlPlane]) -> Hold | None:
    """Return why a member of the control plane must not be powered off now.

    `around` is Absent for a node that is not a member.
    """
    match around:
        case Unreadable(why):
            return Hold(CannotRead("the control plane", why))
        case Absent():
            return None
        case Present(members):
            at_risk = _loses_quorum(members)
            return Hold(at_risk) if at_risk else None


def most_at_once(policy: PolicyFacts, total: int) -> int:
    """Return the lower of count and percentage, but at least one.

    A percentage of a small cluster may be zero.
    """
    share = policy.max_concurrent_percent * total // 100
    return max(1, min(policy.max_concurrent, share)) if total else policy.max_concurrent


def setting_at_once(policy: PolicyFacts, total: int) -> str:
    """Return the setting that determines that limit: raising the other one would have no effect."""
    share = policy.max_concurrent_percent * total // 100
    # If both allow at most one, only raising both has an effect.
    if total and max(share, 1) == max(policy.max_concurrent, 1):
        return "maxConcurrent and maxConcurrentPercent"
    return "maxConcurrentPercent" if total and share < policy.max_concurrent else "maxConcurrent"


def closes_at(policy: PolicyFacts, total: int) -> int:
    """Return the unhealthy count at which a storm of the whole cluster begins."""
    return limits.closes_at(policy.max_unhealthy, total, LimitSemantics.ALLOW_ONE)


def _stopped(policy: PolicyFacts) -> HoldReason | None:
    if policy.mode is not Mode.ACT:
        return DryRun(policy_exists=True)
    if policy.pause is not None:
        return Paused(policy.pause.by, policy.pause.reason)
    return policy.problem


def _crowded(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    match facts.others:
        case Unreadable(why):
            return CannotRead("the other remediations", why)
        case Absent():
            return None
        case Present(in_progress):
            total = facts.of_cluster.total
            most, setting = most_at_once(policy, total), setting_at_once(policy, total)
            count = in_progress + (facts.released if policy.count_released else 0)
            return TooManyAtOnce(count, most, setting=setting) if count >= most else None


def _check_policy(_facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    return _stopped(policy)


def _check_health_check(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    check = facts.check
    if check.unread:
        return UnsupportedSetting(check.name, check.unread)
    if check.dry_run:
        return CheckDryRun(check.name)
    if check.pause is not None:
        return Paused(check.pause.by, check.pause.reason, check.name, check.unpause)
    return None


def _check_exclusion(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    if facts.excluded_by:
        return Excluded(facts.excluded_by)
    if facts.maintained_by:
        return InMaintenance(facts.maintained_by)
    return None


def _check_api(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    freshness = facts.freshness
    if isinstance(freshness, CacheUnavailable) or freshness.error_free_for >= freshness.calm_needed:
        return None
    return RecentApiErrors(freshness.error_free_for, freshness.calm_needed)


def _check_cluster_storm(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    return _too_many("the cluster", policy.max_unhealthy, facts.of_cluster, LimitSemantics.ALLOW_ONE)


def _check_domain_storm(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    domains, here = policy.domains, facts.of_domain
    if domains is None or here is None or here.health_counts.total < domains.min_nodes:
        return None
    return _too_many(
        f"domain {here.name}", domains.max_unhealthy, here.health_counts, LimitSemantics.ALLOW_ONE
    )


def _check_check_storm(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    check = facts.check
    if check.gate is None:
        return None
    return _too_many(f"check {check.name}", check.gate, facts.of_check, check.reading)


def _check_cooldown(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    return CoolingDown(facts.cooldown) if facts.cooldown > 0 else None


def _check_control_plane(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    around = facts.control_plane
    if around is None:
        return None
    return ControlPlaneBusy(around.busy) if around.busy else _loses_quorum(around)


def _loses_quorum(around: ControlPlane) -> QuorumAtRisk | None:
    # A majority of all members must remain without this one, or etcd stops for the whole cluster.
    if around.others_ready * 2 <= around.total:
        return QuorumAtRisk(around.others_ready, around.total)
    return None


def _check_concurrency(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    crowded = _crowded(facts, policy)
    domains, here = policy.domains, facts.of_domain
    if crowded is None and domains is not None and here is not None:
        in_progress = here.health_counts.remediating + (here.released if policy.count_released else 0)
        most, setting = domains.max_concurrent, "failureDomains.maxConcurrent"
        return TooManyAtOnce(in_progress, most, here.name, setting) if in_progress >= most else None
    return crowded


def _check_start_interval(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    missing = policy.min_interval - facts.since_last_start
    return StartInterval(missing) if missing > 0 else None


def _too_many(
    scope: str, gate: LimitComparison, health_counts: HealthCounts, reading: LimitSemantics
) -> HoldReason | None:
    if not closed(gate, health_counts.unhealthy, health_counts.total, reading):
        return None
    if isinstance(gate, Between) and health_counts.unhealthy < gate.least:
        return TooFewUnhealthy(scope, health_counts.unhealthy, gate.least)
    most = max(0, max_allowed_unhealthy(gate, health_counts.total, reading))
    return TooManyUnhealthy(scope, health_counts.unhealthy, health_counts.total, str(gate), most)


CHECKS: Final[tuple[GuardCheck, ...]] = (
    _check_policy,
    _check_health_check,
    _check_exclusion,
    _check_api,
    _check_cluster_storm,
    _check_domain_storm,
    _check_check_storm,
    _check_cooldown,
    _check_control_plane,
    _check_concurrency,
    _check_start_interval,
)
"""In order: the settings of users, then the state of the cluster, then limits that only need time."""
