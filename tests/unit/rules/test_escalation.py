"""Escalation, one remedy at a time."""

import pytest

from nodemend.rules.request import Escalate, NoAction, RemediesExhausted, RemedyAttempt, next_remedy
from nodemend.safety.holds import Hold

LADDER = (60.0, None, 120.0)


@pytest.mark.parametrize(
    ("trying", "expected"),
    [
        (RemedyAttempt(0, 0.0, failed=False), NoAction(60.0)),
        (RemedyAttempt(0, 59.0, failed=False), NoAction(1.0)),
        (RemedyAttempt(0, 60.0, failed=False), Escalate(1)),
        (RemedyAttempt(0, 1.0, failed=True), Escalate(1)),
        (RemedyAttempt(1, 1e9, failed=False), NoAction(None)),
        (RemedyAttempt(1, 1.0, failed=True), Escalate(2)),
        (RemedyAttempt(2, 119.0, failed=False), NoAction(1.0)),
        (RemedyAttempt(2, 120.0, failed=False), Hold(RemediesExhausted(3))),
        (RemedyAttempt(2, 0.0, failed=True), Hold(RemediesExhausted(3))),
    ],
)
def test_escalation(trying: RemedyAttempt, expected: NoAction | Escalate | Hold) -> None:
    assert next_remedy(LADDER, trying) == expected
