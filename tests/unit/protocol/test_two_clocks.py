"""The time that certainly passed, and the time that may have, by two clocks that disagree."""

import pytest

from nodemend.protocol.timing import TwoClocks

pytestmark = pytest.mark.attack("K5")


def passed(*readings: tuple[float, float]) -> tuple[float, float]:
    clocks = TwoClocks()
    moments = [clocks.read(slewed, unslewed) for slewed, unslewed in readings]
    return round(moments[-1].least - moments[0].least, 6), round(moments[-1].most - moments[0].most, 6)


@pytest.mark.parametrize(
    ("readings", "found"),
    [
        (((5, 100), (15, 110)), (10, 10)),
        (((5, 100), (16, 110)), (10, 11)),
        (((5, 100), (14, 110)), (9, 10)),
        (((5, 100), (65, 100)), (0, 60)),
        (((5, 100), (16, 110), (25, 120)), (19, 21)),
    ],
    ids=["they agree", "slewed fast", "slewed slow", "asleep", "first fast, then slow"],
)
def test_the_slower_clock_gives_the_least_and_the_faster_the_most_elapsed_time(
    readings: tuple[tuple[float, float], ...], found: tuple[float, float]
) -> None:
    assert passed(*readings) == found


def test_where_they_agree_moments_are_those_of_the_clock_itself() -> None:
    clocks = TwoClocks()
    clocks.read(1.0, 1.0)
    assert (clocks.read(7.25, 7.25).least, clocks.read(7.25, 7.25).most) == (7.25, 7.25)
