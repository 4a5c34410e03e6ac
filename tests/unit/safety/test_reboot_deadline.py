"""The time that a manager waits for a watchdog, and the values that it refuses."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.protocol.timing import RenewalPace
from nodemend.safety.time_proof import FencingTimes, TooShort, evaluate_deadline, safe_time

USUAL = FencingTimes(feed_lease=RenewalPace().feed_lease, watchdog=10.0)


def test_with_a_watchdog_of_ten_seconds_it_is_about_72() -> None:
    assert safe_time(USUAL) == pytest.approx(71.719, abs=0.001)


def test_nothing_drifts_nothing_lingers_then_it_is_the_lease_and_three_watchdogs() -> None:
    bare = FencingTimes(feed_lease=35, watchdog=10, clock_error=0, watchdog_error=0, reset_takes=0, drain=0)
    assert safe_time(bare) == 35 + 3 * 10


@pytest.mark.slow
@given(
    late_read=st.fractions(0, 1),
    late_ping=st.fractions(0, 1),
    late_death=st.fractions(0, 1),
    slow=st.sampled_from([Fraction(0), Fraction(1, 1000)]),
)
def test_no_node_that_keeps_the_rules_outlives_it(
    late_read: Fraction, late_ping: Fraction, late_death: Fraction, slow: Fraction
) -> None:
    """Computed with exact numbers: each wait as long as its own clock allows, times the drawn fraction."""
    lease, watchdog = Fraction(35) / (1 - slow), Fraction(10) / (1 - Fraction(2, 100))
    last_check = late_read * lease
    last_ping = last_check + late_ping * watchdog
    last_close = last_ping + late_death * watchdog
    dead = last_close + watchdog + 1 + 5

    assert dead <= Fraction(safe_time(USUAL)) / (1 + Fraction(1, 1000)) + Fraction(1, 10**6)


@pytest.mark.parametrize(("wanted", "waits"), [(None, safe_time(USUAL)), (90.0, 90.0), (72.0, 72.0)])
def test_what_is_configured_counts_where_it_is_long_enough(wanted: float | None, waits: float) -> None:
    assert evaluate_deadline(wanted, USUAL) == waits


@pytest.mark.parametrize("wanted", [0.0, 10.0, 62.0, 71.7])
def test_a_shorter_one_is_refused_and_not_raised(wanted: float) -> None:
    verdict = evaluate_deadline(wanted, USUAL)

    assert verdict == TooShort(wanted, safe_time(USUAL))
    assert str(verdict).endswith("at least 71.7 s do")


@pytest.mark.parametrize(
    "wrong",
    [
        {"feed_lease": 0.0},
        {"watchdog": 0.0},
        {"reset_takes": -1.0},
        {"drain": -1.0},
        {"clock_error": -0.1},
        {"clock_error": 0.5},
        {"watchdog_error": 0.5},
    ],
)
def test_times_that_prove_nothing_are_no_times(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="prove nothing"):
        FencingTimes(**{"feed_lease": 35.0, "watchdog": 10.0, **wrong})


def test_just_the_least_is_long_enough() -> None:
    times = FencingTimes(feed_lease=0.5, watchdog=0.5, reset_takes=0.0, drain=0.5)

    assert evaluate_deadline(safe_time(times), times) == safe_time(times)
