"""What people hear of recoveries: each change once, and nothing while nothing changes."""

import pytest

from nodemend.api.node_health_check import RecoveryPhase, RecoveryReport
from nodemend.controllers.node_health_check.recovery_news import recovery_news

OWED, RUNNING, SUCCEEDED, FAILED, OVERDUE = RecoveryPhase


def a_report(phase: RecoveryPhase | None) -> tuple[RecoveryReport, ...]:
    if phase is None:
        return ()
    return (RecoveryReport(node="n1", node_uid="u1", phase=phase, since="now", message=f"It is {phase}."),)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (None, OWED, []),
        (OWED, OWED, []),
        (OWED, RUNNING, ["RecoveryStarted"]),
        (None, RUNNING, ["RecoveryStarted"]),
        (RUNNING, RUNNING, []),
        (OWED, SUCCEEDED, ["RecoverySucceeded"]),
        (RUNNING, SUCCEEDED, ["RecoverySucceeded"]),
        (RUNNING, FAILED, ["RecoveryFailed"]),
        (RUNNING, OVERDUE, ["RecoveryFailed"]),
        (OVERDUE, FAILED, ["RecoveryFailed"]),
        (FAILED, FAILED, []),
        (FAILED, SUCCEEDED, ["RecoverySucceeded"]),
        (RUNNING, OWED, ["RecoveryWithdrawn"]),
        (FAILED, OWED, ["RecoveryWithdrawn"]),
        (SUCCEEDED, None, []),
        (RUNNING, None, ["RecoveryWithdrawn"]),
        (OWED, None, ["RecoveryWithdrawn"]),
    ],
)
def test_a_change_is_told_once(
    before: RecoveryPhase | None, now: RecoveryPhase | None, told: list[str]
) -> None:
    news = list(recovery_news(a_report(before), a_report(now)))
    assert [one.reason.word for one in news] == told
    assert all((one.name, one.uid) == ("n1", "u1") and one.note.endswith(".") for one in news)
