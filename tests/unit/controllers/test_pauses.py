"""Whether a pause is in force."""

from datetime import UTC, datetime

import pytest

from nodemend.api.pause import Pause
from nodemend.controllers.pauses import in_force

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("until", "holds"),
    [
        (None, True),
        ("2026-01-31T12:00:01Z", True),
        ("2026-01-31T12:00:00Z", False),
        ("2026-01-31T14:00:00+02:00", False),
        ("2026-01-31T12:00:00", True),
        ("at noon", True),
    ],
)
def test_a_pause_goes_on_until_its_end_and_without_one_for_ever(until: str | None, *, holds: bool) -> None:
    pause = Pause(reason="swap", until=until)
    assert in_force(pause, NOON) == (pause if holds else None)


def test_no_pause_is_none() -> None:
    assert in_force(None, NOON) is None
