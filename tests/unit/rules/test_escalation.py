"""Escalation, one remedy at a time."""

import pytest

from nodemend.rules.request import EscalateTo, Exhausted, KeepTrying, RemedyAttempt, next_remedy

LADDER = (60.0, None, 120.0)


@pytest.mark.parametrize(
    ("trying", "expected"),
    [
        (RemedyAttempt(0, 0.0, failed=False), KeepTrying(60.0)),
        (RemedyAttempt(0, 59.0, failed=False), KeepTrying(1.0)),
        (RemedyAttempt(0, 60.0, failed=False), EscalateTo(1)),
        (RemedyAttempt(0, 1.0, failed=True), EscalateTo(1)),
        (RemedyAttempt(1, 1e9, failed=False), KeepTrying(None)),
        (RemedyAttempt(1, 1.0, failed=True), EscalateTo(2)),
        (RemedyAttempt(2, 119.0, failed=False), KeepTrying(1.0)),
        (RemedyAttempt(2, 120.0, failed=False), Exhausted()),
        (RemedyAttempt(2, 0.0, failed=True), Exhausted()),
    ],
)
def test_escalation(trying: RemedyAttempt, expected: KeepTrying | EscalateTo | Exhausted) -> None:
    assert next_remedy(LADDER, trying) == expected
