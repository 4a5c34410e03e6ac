from datetime import timedelta

import pytest

from nodemend.api.quantities import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("1h1m1s", 3661), ("0s", 0)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m5", "1m1h", "-5m", "1.5h", "5M", "٣s", "1234567s"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        parse_duration(text)
