"""Events of recoveries: one for each change, and none without a change."""

import pytest

from nodemend.api.node_health_check import RecoveryPhase, RecoveryReport
from nodemend.health.node.events import recovery_events

PENDING, RUNNING, SUCCEEDED, FAILED, OVERDUE = RecoveryPhase


def a_report(phase: RecoveryPhase | None) -> tuple[RecoveryReport, ...]:
    if phase is None:
        return ()
    return (RecoveryReport(node="n1", node_uid="u1", phase=phase, since="now", message=f"It is {phase}."),)


@pytest.mark.parametrize(
    ("before", "now", "reported"),
    [
        (None, PENDING, []),
        (PENDING, PENDING, []),
        (PENDING, RUNNING, ["RecoveryStarted"]),
        (None, RUNNING, ["RecoveryStarted"]),
        (RUNNING, RUNNING, []),
        (PENDING, SUCCEEDED, ["RecoverySucceeded"]),
        (RUNNING, SUCCEEDED, ["RecoverySucceeded"]),
        (RUNNING, FAILED, ["RecoveryFailed"]),
        (RUNNING, OVERDUE, ["RecoveryFailed"]),
        (OVERDUE, FAILED, ["RecoveryFailed"]),
        (FAILED, FAILED, []),
        (FAILED, SUCCEEDED, ["RecoverySucceeded"]),
        (RUNNING, PENDING, ["RecoveryWithdrawn"]),
        (FAILED, PENDING, ["RecoveryWithdrawn"]),
        (SUCCEEDED, None, []),
        (RUNNING, None, ["RecoveryWithdrawn"]),
        (PENDING, None, ["RecoveryWithdrawn"]),
    ],
)
def test_a_change_is_reported_once(
    before: RecoveryPhase | None, now: RecoveryPhase | None, reported: list[str]
) -> None:
    news = list(recovery_events(a_report(before), a_report(now)))
    assert [reason.name for _, reason, _ in news] == reported
    assert all((one.node, one.node_uid) == ("n1", "u1") and note.endswith(".") for one, _, note in news)
