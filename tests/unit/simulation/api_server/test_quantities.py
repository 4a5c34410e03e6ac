import pytest

from simulation.api_server.decoding import canonical_micro_time, canonical_quantity, canonical_time


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("4", "4"),
        ("4000m", "4"),
        ("0.5", "500m"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("100m", "100m"),
        ("1e3", "1e3"),
        ("0", "0"),
        ("12Ki", "12Ki"),
    ],
)
def test_a_quantity_has_one_form(text: str, canonical: str) -> None:
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "5 Gi", "1KB"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantities|number"):
        canonical_quantity(text)


def test_times_are_whole_seconds_of_utc() -> None:
    assert canonical_time("2026-01-01T02:00:00.9+02:00") == "2026-01-01T00:00:00Z"


def test_micro_times_have_six_digits_or_are_refused() -> None:
    assert canonical_micro_time("2026-01-01T02:00:00.500000+02:00") == "2026-01-01T00:00:00.500000Z"
    for text in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "soon"):
        with pytest.raises(ValueError, match="parsing time"):
            canonical_micro_time(text)
