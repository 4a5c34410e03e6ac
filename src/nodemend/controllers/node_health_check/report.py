"""The status of a check: counts, the targets that are not well, and whether remediation may begin."""

from typing import Any

import msgspec

from nodemend.api.conditions import Condition, ConditionStatus, merged
from nodemend.api.node_health_check import NodeHealthCheck, NodeHealthCheckStatus, TargetReport
from nodemend.controllers.node_health_check.ledger import Ledger, Standing
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import DryRun, Hold, Paused
from nodemend.decide.storm_guard import Go

MOST_REPORTS = 50


def status_of(check: NodeHealthCheck, ledger: Ledger, guarded: Go | Hold, now: str) -> NodeHealthCheckStatus:
    return NodeHealthCheckStatus(
        observed_generation=check.metadata.generation,
        targets=len(ledger),
        healthy=ledger.count(Standing.HEALTHY),
        remediating=ledger.count(Standing.REMEDIATING),
        reports=tuple(
            TargetReport(name=name, verdict=entry.standing, message=entry.message)
            for name, entry in ledger.special(MOST_REPORTS)
        ),
        conditions=merged(check.status.conditions, _conditions(check, ledger, guarded, now)),
    )


def as_fields(status: NodeHealthCheckStatus) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(status)
    return fields


def _conditions(
    check: NodeHealthCheck, ledger: Ledger, guarded: Go | Hold, now: str
) -> tuple[Condition, ...]:
    held = guarded.reason if isinstance(guarded, Hold) else None
    why = type(held).__name__ if held else "Allowed"
    told = str(explain(held)) if held else ""
    facts = (
        ("Ready", True, "Watching", f"{len(ledger)} nodes are watched."),
        ("RemediationAllowed", held is None, why, told),
        ("Paused", isinstance(held, Paused), why if isinstance(held, Paused) else "NotPaused", ""),
        ("DryRun", isinstance(held, DryRun), why if isinstance(held, DryRun) else "Acting", ""),
    )
    return tuple(
        Condition(
            type=type_,
            status=ConditionStatus.TRUE if holds else ConditionStatus.FALSE,
            reason=reason,
            message=message,
            observed_generation=check.metadata.generation,
            last_transition_time=now,
        )
        for type_, holds, reason, message in facts
    )
