"""The status of a machine health check, in the shape that its own project reads."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nodemend.api.conditions import ConditionStatus
from nodemend.controllers.checking import overlaps
from nodemend.controllers.checking.standings import Standing, Tally
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.limits import Reading, can_never_act, room
from nodemend.decide.machine_marks import Mark
from nodemend.decide.storm_guard import Go
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_conditions import replaced
from nodemend.kube.machine_dialect import OPENSHIFT, Dialect

MOST_TARGETS: Final = 10_000
ALLOWED: Final = "RemediationAllowed"
STALLED: Final = "Stalled"
_NEVER: Final = "With this limit one unhealthy machine is already too many: nothing is ever remediated."


def status_of(  # noqa: PLR0913 - what is known of one check, and when
    check: MachineCheckRecord,
    dialect: Dialect,
    tally: Tally,
    targets: Sequence[str],
    guarded: Go | Hold,
    reading: Reading,
    *,
    left: Mapping[str, int],
    now: str,
) -> dict[str, Any]:
    """All that we write there. Conditions of others are kept.

    `left` is how many of the Machines that it selects are another check's, by that one's name.
    """
    held = guarded.reason if isinstance(guarded, Hold) else None
    marks = {
        ALLOWED: Mark(
            ConditionStatus.FALSE if held else ConditionStatus.TRUE,
            type(held).__name__ if held else ALLOWED,
            str(explain(held)) if held else "",
        ),
        STALLED: _stalled(check, len(tally), reading, left),
        overlaps.CONDITION: _overlapping(len(tally), left),
    }
    status = {
        "expectedMachines": len(tally),
        "currentHealthy": tally.count(Standing.HEALTHY),
        "remediationsAllowed": 0 if held else _allowed(check, tally, reading),
        "conditions": replaced(check.status.get("conditions") or (), marks, dialect, now),
    }
    if check.resource.group == OPENSHIFT:
        return status
    return status | {
        "observedGeneration": check.generation,
        "targets": sorted(targets)[:MOST_TARGETS],
    }


def differs(status: dict[str, Any], written: dict[str, Any]) -> bool:
    """Whether any of our fields is not written so. An empty list is not written at all."""
    return any((written.get(key) or None) != (value or None) for key, value in status.items())


def _allowed(check: MachineCheckRecord, tally: Tally, reading: Reading) -> int:
    """How many more could be remediated before the check's own limit closes."""
    total, unhealthy = len(tally), len(tally) - tally.count(Standing.HEALTHY)
    most = total if check.rules.gate is None else min(total, room(check.rules.gate, total, reading))
    return max(0, most - unhealthy)


def _overlapping(total: int, left: Mapping[str, int]) -> Mark | None:
    """Only there while other checks have Machines that it selects."""
    told = overlaps.spell_overlap(left, total, "Machine")
    return Mark(ConditionStatus.TRUE, overlaps.OTHERS_FIRST, told) if told else None


def _stalled(check: MachineCheckRecord, total: int, reading: Reading, left: Mapping[str, int]) -> Mark | None:
    """Only there while the check cannot do what it is for."""
    if check.rules.unread:
        return Mark(ConditionStatus.TRUE, "NotUnderstood", "; ".join(check.rules.unread))
    if left and not total:
        return Mark(ConditionStatus.TRUE, "NothingLeft", overlaps.NOTHING_LEFT)
    gate = check.rules.gate
    if gate is not None and can_never_act(gate, total, reading):
        return Mark(ConditionStatus.TRUE, "LimitTooLow", _NEVER)
    return None
