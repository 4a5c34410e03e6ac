"""Time on paper."""

import itertools
import random
from datetime import timedelta

import pytest

from nodemend.cli.timeline.svg import CUT_FROM, CUT_WIDTH, fit, widened
from tests.unit.cli.node_cases import at

LEFT, RIGHT = 100.0, 1100.0


def test_without_long_gaps_time_is_even() -> None:
    scale = fit([at(0), at(10), at(40), at(100)], LEFT, RIGHT)

    assert [scale.place(at(seconds)) for seconds in (0, 10, 40, 70, 100)] == [100, 200, 500, 800, 1100]
    assert scale.cuts == ()


def test_a_long_time_without_anything_is_cut_and_says_how_long_it_was() -> None:
    scale = fit([at(0), at(60), at(7260), at(7320)], LEFT, RIGHT)
    [cut] = scale.cuts

    assert (cut.right - cut.left, cut.seconds, cut.begin) == (CUT_WIDTH, 7200.0, at(60))
    assert scale.place(at(60)) - LEFT == pytest.approx(RIGHT - scale.place(at(7260)))


def test_a_short_incident_is_never_cut_and_neither_is_the_only_gap() -> None:
    assert fit([at(0), at(1), at(CUT_FROM - 1)], LEFT, RIGHT).cuts == ()
    assert fit([at(0), at(90_000)], LEFT, RIGHT).cuts == ()


@pytest.mark.parametrize("seed", range(200))
def test_order_is_kept_all_is_within_and_ticks_keep_their_distance(seed: int) -> None:
    chance = random.Random(seed)
    seconds = sorted(chance.expovariate(1 / chance.choice([5.0, 500.0, 50_000.0])) for _ in range(30))
    scale = fit([at(one) for one in seconds], LEFT, RIGHT)
    places = [scale.place(at(one)) for one in seconds]
    ticks = [scale.place(tick) for tick in scale.ticks(apart=90.0)]

    assert places == sorted(places)
    assert places[0] == LEFT
    assert places[-1] == pytest.approx(RIGHT)
    assert all(later - earlier >= 90.0 for earlier, later in itertools.pairwise(ticks))
    assert not any(cut.left < tick < cut.right for tick in ticks for cut in scale.cuts)
    assert len(ticks) >= 2 or scale.cuts


def test_years_between_two_moments_cost_no_time() -> None:
    year = 365 * 86_400
    scale = fit([at(0), at(1), at(20 * year), at(20 * year + 1)], LEFT, RIGHT)

    assert 1 <= len(list(scale.ticks(apart=90.0))) <= 12


def test_a_single_moment_has_a_minute() -> None:
    assert widened(at(0), at(0)) == (at(0), at(60))
    assert widened(at(0), at(0) + timedelta(hours=1)) == (at(0), at(3600))
