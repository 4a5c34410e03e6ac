"""Durations as Go writes them."""

import pytest

from nodemend.records.machine import parse_go_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("10m0s", 600.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("300ms", 0.3),
        (".5s", 0.5),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("5ns", 5e-9),
    ],
)
def test_it_is_read(text: str, seconds: float) -> None:
    assert parse_go_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "-5m", "5m ", "5 m", "m", "5d", "5m5", "1e3s", "five"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        parse_go_duration(text)
