"""Moments as Leases and Events carry them."""

from datetime import datetime, timedelta, timezone

import pytest

from nodemend.api.meta import print_micro_time


def test_a_moment_is_printed_in_utc_to_the_microsecond() -> None:
    moment = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))

    assert print_micro_time(moment) == "2025-12-31T23:30:00.000000Z"


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        print_micro_time(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point
