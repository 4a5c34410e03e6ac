"""A lasting hold is reported again at growing intervals."""

from itertools import pairwise

import pytest

from nodemend.rules.request import FIRST, LONGEST, LastingHold, remind

DAY = 86_400.0
YEAR = 365 * DAY


def reported_at(moments: list[float], held: list[bool]) -> list[float]:
    lasting: LastingHold | None = None
    reported = []
    for now, is_held in zip(moments, held, strict=True):
        lasting, lasted = remind(lasting, held=is_held, now=now)
        reported += [now] if lasted is not None else []
    return reported


def test_the_first_is_after_five_minutes_then_it_doubles_up_to_a_bound() -> None:
    seconds = [float(second) for second in range(4 * 3600)]
    gaps = [
        later - earlier for earlier, later in pairwise((0.0, *reported_at(seconds, [True] * len(seconds))))
    ]
    assert gaps[:6] == [300.0, 600.0, 1200.0, 2400.0, 2700.0, 2700.0]


@pytest.mark.parametrize("every", [1.0, 10.0, 61.0, 1000.0])
def test_however_often_we_look_a_day_has_about_as_many(every: float) -> None:
    moments = [step * every for step in range(int(DAY / every))]
    reported = reported_at(moments, [True] * len(moments))
    assert DAY / (LONGEST + every) - 2 <= len(reported) <= DAY / LONGEST + 5
    assert all(later - earlier >= FIRST for earlier, later in pairwise(reported))


def test_after_a_year_it_is_still_reported() -> None:
    moments = [step * LONGEST for step in range(int(YEAR / LONGEST))]
    assert reported_at(moments, [True] * len(moments))[-1] == moments[-1]


def test_a_hold_that_ended_starts_again_and_a_short_one_is_not_repeated() -> None:
    moments = [0.0, 299.0, 300.0, 400.0, 500.0, 799.0, 800.0]
    assert reported_at(moments, [True, True, True, False, True, True, True]) == [300.0, 800.0]
    assert reported_at([0.0, 299.0, 299.5], [True, True, False]) == []


def test_after_a_long_gap_it_is_reported_once_and_not_for_each_missed_time() -> None:
    assert reported_at([0.0, DAY, DAY + 1, DAY + 599, DAY + 600], [True] * 5) == [DAY, DAY + 600]


def test_it_says_for_how_long_it_has_lasted() -> None:
    _, lasted = remind(LastingHold(since=100.0, reported_at=400.0, interval=600.0), held=True, now=1000.0)
    assert lasted == 900.0
