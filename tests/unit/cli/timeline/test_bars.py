"""Bars: states that lasted for a time."""

from nodemend.cli.timeline import collect as states
from nodemend.cli.timeline.build import bars_of
from nodemend.cli.timeline.collect import OVER, Bar, Lane, LaneStart
from tests.unit.cli.node_cases import at

WORKLOADS, REMEDIATION = Lane.WORKLOADS, Lane.REMEDIATION


def lasted(*turns: tuple[float, LaneStart]) -> list[tuple[str, float, float | None]]:
    bars = bars_of([(at(seconds), (begin,)) for seconds, begin in turns])
    return [(bar.state.label, *_seconds(bar)) for bar in bars]


def _seconds(bar: Bar) -> tuple[float, float | None]:
    end = None if bar.end is None else (bar.end - at(0)).total_seconds()
    return (bar.begin - at(0)).total_seconds(), end


def test_one_thing_ends_where_the_next_begins_and_the_last_lasts() -> None:
    assert lasted((0, (REMEDIATION, states.FENCE)), (5, (REMEDIATION, states.RELEASE))) == [
        ("fence", 0, 5),
        ("release", 5, None),
    ]


def test_what_begins_again_goes_on_and_what_is_over_has_an_end() -> None:
    fence = (REMEDIATION, states.FENCE)
    assert lasted((0, fence), (3, fence), (9, (REMEDIATION, OVER))) == [("fence", 0, 9)]


def test_workloads_that_were_released_are_not_held_back_by_a_node_that_stays_away() -> None:
    held, leaving = (WORKLOADS, states.HELD), (WORKLOADS, states.LEAVING)
    assert lasted((0, held), (3, leaving), (4, held)) == [("held back", 0, 3), ("leaving", 3, None)]


def test_what_is_known_of_a_remediation_only_as_such_hides_none_of_its_steps() -> None:
    as_such, fence = (REMEDIATION, states.REMEDIATION), (REMEDIATION, states.FENCE)
    assert lasted((0, fence), (1, as_such), (9, (REMEDIATION, OVER))) == [("fence", 0, 9)]
    assert lasted((0, as_such), (9, (REMEDIATION, OVER))) == [("remediation", 0, 9)]


def test_what_took_no_time_is_no_bar() -> None:
    assert lasted((1, (REMEDIATION, states.FENCE)), (1, (REMEDIATION, OVER))) == []
