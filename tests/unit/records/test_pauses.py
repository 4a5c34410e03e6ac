"""Active and expired pauses."""

from datetime import UTC, datetime

import pytest

from nodemend.api.meta import Pause
from nodemend.records.live_reads import active_pause

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
def test_a_pause_lasts_until_its_end_or_without_one_forever(until: str | None, *, holds: bool) -> None:
    pause = Pause(reason="swap", until=until)
    assert active_pause(pause, NOON) == (pause if holds else None)


def test_without_a_pause_nothing_is_paused() -> None:
    assert active_pause(None, NOON) is None
