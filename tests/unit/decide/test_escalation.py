"""Up the ladder, one rung at a time."""

import pytest

from nodemend.decide.escalation import Climb, Spent, Stay, Trying, climb

LADDER = (60.0, None, 120.0)


@pytest.mark.parametrize(
    ("trying", "expected"),
    [
        (Trying(0, 0.0, failed=False), Stay(60.0)),
        (Trying(0, 59.0, failed=False), Stay(1.0)),
        (Trying(0, 60.0, failed=False), Climb(1)),
        (Trying(0, 1.0, failed=True), Climb(1)),
        (Trying(1, 1e9, failed=False), Stay(None)),
        (Trying(1, 1.0, failed=True), Climb(2)),
        (Trying(2, 119.0, failed=False), Stay(1.0)),
        (Trying(2, 120.0, failed=False), Spent()),
        (Trying(2, 0.0, failed=True), Spent()),
    ],
)
def test_climb(trying: Trying, expected: Stay | Climb | Spent) -> None:
    assert climb(LADDER, trying) == expected
