"""Who is deleted while it is not well counts on for a while, and who is not does not."""

import pytest

from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing, Standings
from nodemend.controllers.checking.vanished import COUNT_ON, COUNTED_FOR, Vanished
from nodemend.decide.guard_facts import Census

PLACE = Place("workers", "zone-a")


@pytest.mark.parametrize("standing", Standing)
def test_who_counts_on(standing: Standing) -> None:
    standings = Standings()
    standings.enter("n1", PLACE, Entry(standing))
    counted = Vanished(standings).count_on("n1", 0.0)
    assert counted == (COUNTED_FOR if standing in COUNT_ON else None)
    assert {Standing.UNHEALTHY, Standing.HELD, Standing.REMEDIATING} == COUNT_ON


def test_it_counts_as_unhealthy_where_it_stood_and_not_as_under_remediation() -> None:
    standings = Standings()
    standings.enter("n1", PLACE, Entry(Standing.REMEDIATING))
    standings.enter("n2", PLACE, HEALTHY)
    Vanished(standings).count_on("n1", 0.0)
    assert standings.census_of_check("workers") == standings.census_of_domain(PLACE) == Census(2, 1, 0)


def test_the_time_runs_from_when_it_went_and_then_it_is_over() -> None:
    standings = Standings()
    standings.enter("n1", PLACE, Entry(Standing.HELD))
    vanished = Vanished(standings)
    assert vanished.count_on("n1", 100.0) == COUNTED_FOR
    assert vanished.count_on("n1", 400.0) == COUNTED_FOR - 300.0
    assert list(vanished.names) == ["n1"]
    assert vanished.count_on("n1", 100.0 + COUNTED_FOR) is None
    assert list(vanished.names) == []


def test_nobody_is_remembered_who_was_never_counted_or_who_came_back() -> None:
    standings = Standings()
    vanished = Vanished(standings)
    assert vanished.count_on("stranger", 0.0) is None
    standings.enter("n1", PLACE, Entry(Standing.HELD))
    vanished.count_on("n1", 0.0)
    vanished.forget("n1")
    standings.enter("n1", PLACE, HEALTHY)
    assert vanished.count_on("n1", 10.0) is None
