"""The status of a check: counts, the targets that are not well, and whether remediation may begin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from nodemend.api.conditions import Condition, ConditionStatus, find, merged
from nodemend.api.node_health_check import (
    NodeHealthCheck,
    NodeHealthCheckStatus,
    PastRemediation,
    RecoveryPhase,
    RecoveryReport,
    TargetReport,
)
from nodemend.api.remediation_policy import (
    ADMISSION_DOUBTED,
    STORM,
    Mode,
    RemediationPolicy,
    RemediationPolicyStatus,
)
from nodemend.api.timestamps import print_time
from nodemend.controllers.checking import overlaps
from nodemend.controllers.checking.standings import Standing, Tally
from nodemend.controllers.pauses import in_force
from nodemend.decide.admission_policies import Doubt
from nodemend.decide.explanation import spell_count
from nodemend.decide.guard_facts import Census
from nodemend.decide.guard_holds import CheckDryRun, DryRun, Paused, Unserved
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.limits import Reading, can_never_act, parse_gate
from nodemend.decide.storm_guard import Go

MOST_REPORTS = 50
MOST_NAMED: Final = 5
UNSERVED: Final = "RemediationUnserved"
_NEVER: Final = "With this maxUnhealthy one unhealthy node is already too many: nothing is ever remediated."


@dataclass(frozen=True, slots=True)
class Ability:
    """Whether a check may act now, and whether it could: `unusable` says what is wrong with its remedies."""

    guarded: Go | Hold
    unusable: str = ""
    left: Mapping[str, int] = field(default_factory=dict)
    """How many of the nodes that it selects are another check's, by that one's name."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is left of remediations that have ended."""

    history: tuple[PastRemediation, ...] = ()
    recoveries: tuple[RecoveryReport, ...] = ()


def status_of(
    check: NodeHealthCheck, tally: Tally, ability: Ability, past: Past, now: str
) -> NodeHealthCheckStatus:
    told = (
        *_conditions(check, tally, ability, now),
        *_overlap_condition(check, tally, ability, now),
        *_recovery_condition(check, past.recoveries, now),
    )
    return NodeHealthCheckStatus(
        observed_generation=check.metadata.generation,
        targets=_watched(tally),
        healthy=tally.count(Standing.HEALTHY),
        remediating=tally.count(Standing.REMEDIATING),
        reports=tuple(
            TargetReport(name=name, verdict=entry.standing, message=entry.message, remedy=entry.remedy)
            for name, entry in tally.worst(MOST_REPORTS)
        ),
        history=past.history,
        recoveries=past.recoveries,
        conditions=merged(check.status.conditions, told),
    )


def _watched(tally: Tally) -> int:
    """Those that there are. The guard counts some that are gone."""
    return len(tally) - tally.count(Standing.VANISHED)


def policy_status(
    policy: RemediationPolicy, census: Census, weather: str, doubt: Doubt | None, wall: datetime
) -> RemediationPolicyStatus:
    paused = in_force(policy.spec.pause, wall) is not None
    acting = policy.spec.mode is Mode.ACT
    facts: tuple[tuple[str, bool, str, str], ...] = (
        ("DryRun", not acting, "Acting" if acting else "DryRun", ""),
        ("Paused", paused, "Paused" if paused else "NotPaused", ""),
        (STORM, bool(weather), weather or "Calm", ""),
    )
    if doubt is not None:
        facts += ((ADMISSION_DOUBTED, True, type(doubt).__name__, str(explain(doubt))),)
    elif find(policy.status.conditions, ADMISSION_DOUBTED) is not None:
        facts += ((ADMISSION_DOUBTED, False, "Proven", ""),)
    return RemediationPolicyStatus(
        observed_generation=policy.metadata.generation,
        targets=census.total,
        unhealthy=census.unhealthy,
        remediating=census.remediating,
        conditions=merged(
            policy.status.conditions, _as_conditions(facts, policy.metadata.generation, print_time(wall))
        ),
    )


def as_fields(status: NodeHealthCheckStatus | RemediationPolicyStatus) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(status)
    return fields


def _conditions(check: NodeHealthCheck, tally: Tally, ability: Ability, now: str) -> tuple[Condition, ...]:
    held = ability.guarded.reason if isinstance(ability.guarded, Hold) else None
    why = type(held).__name__ if held else "Allowed"
    told = str(explain(held)) if held else ""
    stalled, stall = _stall(check, tally, ability)
    watched = f"{_watched(tally)} nodes are watched."
    facts = (
        # Who cannot act is not ready, whatever it watches.
        ("Ready", not stall, stalled if stall else "Watching", stall or watched),
        ("Stalled", bool(stall), stalled, stall),
        ("RemediationAllowed", held is None, why, told),
        ("Paused", isinstance(held, Paused), why if isinstance(held, Paused) else "NotPaused", ""),
        ("DryRun", *_dry_run(held, tally)),
    )
    return _as_conditions(facts, check.metadata.generation, now)


def _overlap_condition(
    check: NodeHealthCheck, tally: Tally, ability: Ability, now: str
) -> tuple[Condition, ...]:
    """For checks that leave nodes to others, or did: True while they do."""
    if not ability.left and find(check.status.conditions, overlaps.CONDITION) is None:
        return ()
    named = {f"nhc/{name}": number for name, number in ability.left.items()}
    told = overlaps.spell_overlap(named, _watched(tally), "node")
    why = overlaps.OTHERS_FIRST if told else overlaps.NO_OVERLAP
    return _as_conditions(((overlaps.CONDITION, bool(told), why, told),), check.metadata.generation, now)


def _recovery_condition(
    check: NodeHealthCheck, recoveries: tuple[RecoveryReport, ...], now: str
) -> tuple[Condition, ...]:
    """For checks that have a recovery, or had one: True until nothing is amiss with any of them."""
    if check.spec.recovery is None and find(check.status.conditions, "RecoveryFailed") is None:
        return ()
    bad = [one.node for one in recoveries if one.phase in (RecoveryPhase.FAILED, RecoveryPhase.OVERDUE)]
    more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
    told = f"Failed or overdue: {', '.join(bad[:MOST_NAMED])}{more}." if bad else ""
    why = "RecoveryFailed" if bad else "NoneFailed"
    facts = (("RecoveryFailed", bool(bad), why, told),)
    return _as_conditions(facts, check.metadata.generation, now)


def _stall(check: NodeHealthCheck, tally: Tally, ability: Ability) -> tuple[str, str]:
    """Why it could not act whatever failed, as a reason and in words; no words when it could."""
    if ability.unusable:
        return "RemedyUnusable", ability.unusable
    if unserved := _unserved(tally):
        return UNSERVED, unserved
    if ability.left and not _watched(tally):
        return "NothingLeft", overlaps.NOTHING_LEFT
    never = can_never_act(parse_gate(check.spec.max_unhealthy), _watched(tally), Reading.SPARES_ONE)
    return ("LimitTooLow", _NEVER) if never else ("CanAct", "")


def _dry_run(held: HoldReason | None, tally: Tally) -> tuple[bool, str, str]:
    """Whether it is one, by the policy or by the check itself; and at one node what would be done."""
    if not isinstance(held, DryRun | CheckDryRun):
        return False, "Acting", ""
    waiting = {name: one.message for name, one in tally.unwell.items() if one.cause == type(held).__name__}
    if not waiting:
        return True, type(held).__name__, ""
    first = min(waiting)
    many = f"{spell_count(len(waiting), 'node')} would be remediated, or held by the guard."
    return True, type(held).__name__, f"{many} {first}: {waiting[first]}"


def _unserved(tally: Tally) -> str:
    """Nodes whose remediation was asked for, and that nobody takes up; no words when there are none."""
    found = {name: entry for name, entry in tally.unwell.items() if entry.cause == Unserved.__name__}
    if not found:
        return ""
    first = min(found)
    many = f"{spell_count(len(found), 'remediation')} asked for, and served by nobody"
    return f"{many}. {first}: {found[first].message}"


def _as_conditions(
    facts: Iterable[tuple[str, bool, str, str]], generation: int, now: str
) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=type_,
            status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
            reason=reason,
            message=message,
            observed_generation=generation,
            last_transition_time=now,
        )
        for type_, holds, reason, message in facts
    )
