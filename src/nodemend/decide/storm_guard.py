"""Whether the cluster as a whole allows one more action now.

The guard is a list of questions, asked in order; each knows one reason to hold. What is under way is never
undone by it: clean-up asks nobody.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api.remediation_policy import Mode
from nodemend.decide import limits
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.guard_facts import Blind, Census, ControlPlane, GuardFacts, Sight
from nodemend.decide.guard_holds import (
    ApiUnsettled,
    CheckDryRun,
    ControlPlaneBusy,
    DryRun,
    Excluded,
    InMaintenance,
    NotUnderstood,
    Pacing,
    Paused,
    QuorumAtRisk,
    Settling,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
)
from nodemend.decide.holds import CannotRead, Hold, HoldReason, ViewStale
from nodemend.decide.limits import Between, Gate, Reading, closed, room


@dataclass(frozen=True, slots=True)
class Go:
    """One more action may begin."""


Question = Callable[[GuardFacts, PolicyFacts], HoldReason | None]


def guard(facts: GuardFacts, passing: tuple[type[HoldReason], ...] = ()) -> Go | Hold:
    """The first reason to hold, or Go. Reasons of the types `passing` hold nothing up."""
    return next((Hold(reason) for reason in reasons(facts) if not isinstance(reason, passing)), Go())


def reasons(facts: GuardFacts) -> Iterator[HoldReason]:
    """Every reason to hold, the gravest first."""
    match facts.sight:
        case Blind(why):
            yield CannotRead("the Nodes of its cluster", why)
        case Sight(age, limit) if age > limit:
            yield ViewStale(age, limit)
        case Sight():
            pass
        case _:
            assert_never(facts.sight)
    match facts.policy:
        case Unreadable(why):
            yield CannotRead("the RemediationPolicy", why)
        case Absent():
            yield DryRun(policy_exists=False)
        case Present(policy):
            answers = (question(facts, policy) for question in QUESTIONS)
            yield from (reason for reason in answers if reason is not None)


def brake(policy: Seen[PolicyFacts]) -> Go | Hold:
    """The short form, for a step of a remediation that has begun: mode and pause."""
    match policy:
        case Unreadable(why):
            return Hold(CannotRead("the RemediationPolicy", why))
        case Absent():
            return Hold(DryRun(policy_exists=False))
        case Present(allowed):
            stopped = _stopped(allowed)
            return Hold(stopped) if stopped is not None else Go()


def spare_quorum(around: Seen[ControlPlane]) -> Hold | None:
    """Why a member of the control plane must not be switched off now; Absent for a node that is none."""
    match around:
        case Unreadable(why):
            return Hold(CannotRead("the control plane", why))
        case Absent():
            return None
        case Present(members):
            at_risk = _loses_quorum(members)
            return Hold(at_risk) if at_risk else None


def most_at_once(policy: PolicyFacts, total: int) -> int:
    """The lesser of count and share, but always one: a share of a small cluster would else be none at all."""
    share = policy.max_concurrent_percent * total // 100
    return max(1, min(policy.max_concurrent, share)) if total else policy.max_concurrent


def setting_at_once(policy: PolicyFacts, total: int) -> str:
    """Which setting makes that limit: to raise the other one would change nothing."""
    share = policy.max_concurrent_percent * total // 100
    # Where both are one at most, only both together allow more.
    if total and max(share, 1) == max(policy.max_concurrent, 1):
        return "maxConcurrent and maxConcurrentPercent"
    return "maxConcurrentPercent" if total and share < policy.max_concurrent else "maxConcurrent"


def closes_at(policy: PolicyFacts, total: int) -> int:
    """So many unhealthy of so many in all are a storm of the whole cluster."""
    return limits.closes_at(policy.max_unhealthy, total, Reading.SPARES_ONE)


def _stopped(policy: PolicyFacts) -> HoldReason | None:
    if policy.mode is not Mode.ACT:
        return DryRun(policy_exists=True)
    if policy.pause is not None:
        return Paused(policy.pause.by, policy.pause.reason)
    return policy.doubt


def _crowded(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    match facts.others:
        case Unreadable(why):
            return CannotRead("the other remediations", why)
        case Absent():
            return None
        case Present(at_work):
            total = facts.of_cluster.total
            most, setting = most_at_once(policy, total), setting_at_once(policy, total)
            count = at_work + (facts.released if policy.count_released else 0)
            return TooManyAtOnce(count, most, setting=setting) if count >= most else None


def _ask_policy(_facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    return _stopped(policy)


def _ask_check(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    check = facts.check
    if check.unread:
        return NotUnderstood(check.name, check.unread)
    if check.dry_run:
        return CheckDryRun(check.name)
    if check.pause is not None:
        return Paused(check.pause.by, check.pause.reason, check.name, check.unpause)
    return None


def _ask_exclusion(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    if facts.excluded_by:
        return Excluded(facts.excluded_by)
    if facts.maintained_by:
        return InMaintenance(facts.maintained_by)
    return None


def _ask_api(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    sight = facts.sight
    if isinstance(sight, Blind) or sight.calm_for >= sight.calm_needed:
        return None
    return ApiUnsettled(sight.calm_for, sight.calm_needed)


def _ask_cluster_storm(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    return _too_many("the cluster", policy.max_unhealthy, facts.of_cluster, Reading.SPARES_ONE)


def _ask_domain_storm(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    domains, here = policy.domains, facts.of_domain
    if domains is None or here is None or here.census.total < domains.min_nodes:
        return None
    return _too_many(here.name, domains.max_unhealthy, here.census, Reading.SPARES_ONE)


def _ask_check_storm(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    check = facts.check
    if check.gate is None:
        return None
    return _too_many(check.name, check.gate, facts.of_check, check.reading)


def _ask_settled(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    return Settling(facts.settling) if facts.settling > 0 else None


def _ask_control_plane(facts: GuardFacts, _policy: PolicyFacts) -> HoldReason | None:
    around = facts.control_plane
    if around is None:
        return None
    return ControlPlaneBusy(around.busy) if around.busy else _loses_quorum(around)


def _loses_quorum(around: ControlPlane) -> QuorumAtRisk | None:
    # Taking this one away must leave a majority of all that there are, or etcd stops for everybody.
    if around.others_ready * 2 <= around.total:
        return QuorumAtRisk(around.others_ready, around.total)
    return None


def _ask_room(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    crowded = _crowded(facts, policy)
    domains, here = policy.domains, facts.of_domain
    if crowded is None and domains is not None and here is not None:
        at_work = here.census.remediating + (here.released if policy.count_released else 0)
        most, setting = domains.max_concurrent, "failureDomains.maxConcurrent"
        return TooManyAtOnce(at_work, most, here.name, setting) if at_work >= most else None
    return crowded


def _ask_pace(facts: GuardFacts, policy: PolicyFacts) -> HoldReason | None:
    missing = policy.min_interval - facts.since_last_start
    return Pacing(missing) if missing > 0 else None


def _too_many(scope: str, gate: Gate, census: Census, reading: Reading) -> HoldReason | None:
    if not closed(gate, census.unhealthy, census.total, reading):
        return None
    if isinstance(gate, Between) and census.unhealthy < gate.least:
        return TooFewUnhealthy(scope, census.unhealthy, gate.least)
    most = max(0, room(gate, census.total, reading))
    return TooManyUnhealthy(scope, census.unhealthy, census.total, str(gate), most)


QUESTIONS: Final[tuple[Question, ...]] = (
    _ask_policy,
    _ask_check,
    _ask_exclusion,
    _ask_api,
    _ask_cluster_storm,
    _ask_domain_storm,
    _ask_check_storm,
    _ask_settled,
    _ask_control_plane,
    _ask_room,
    _ask_pace,
)
"""First what people said, then what the cluster shows, then what is merely a matter of time."""
