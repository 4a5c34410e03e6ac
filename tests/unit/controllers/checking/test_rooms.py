"""How full each limit is."""

from dataclasses import replace

import pytest

from nodemend.api.remediation_policy import Mode
from nodemend.controllers.checking.rooms import Room, room_of_check, rooms_of_cluster
from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing, Standings
from nodemend.controllers.checking.weather import Region
from nodemend.decide.facts import DomainLimits
from nodemend.decide.guard_facts import CheckFacts
from nodemend.decide.limits import Between, Count, Gate, Percent, Reading, closed
from tests.unit.decide.worlds import allowing

SICK = Entry(Standing.UNHEALTHY)
POLICY = allowing(Mode.ACT, None, 10)


def standing(**sick_of_total: tuple[int, int]) -> Standings:
    """By failure domain."""
    standings = Standings()
    for domain, (sick, total) in sick_of_total.items():
        for number in range(total):
            entry = SICK if number < sick else HEALTHY
            standings.enter(f"{domain}-{number}", Place("workers", domain), entry)
    return standings


@pytest.mark.parametrize("gate", [Count(0), Count(3), Percent(30), Percent(100), Between(1, 4)])
@pytest.mark.parametrize("reading", list(Reading))
def test_the_limit_is_the_fewest_that_close_the_guard(gate: Gate, reading: Reading) -> None:
    room = room_of_check(standing(a=(0, 10)), CheckFacts("workers", gate, reading))
    assert room is not None
    assert closed(gate, room.limit, 10, reading)
    assert room.limit == 1 or not closed(gate, room.limit - 1, 10, reading)


def test_a_check_without_a_limit_has_no_room() -> None:
    assert room_of_check(standing(a=(1, 10)), CheckFacts("workers")) is None


def test_the_cluster_and_domains_that_are_large_enough_are_told() -> None:
    limits = DomainLimits("zone", Percent(50), min_nodes=4, max_concurrent=1)
    policy = replace(POLICY, max_unhealthy=Count(5), domains=limits)
    rooms = rooms_of_cluster(standing(a=(2, 6), small=(1, 2), z=(0, 4)), policy, "")
    assert list(rooms) == [
        Room(Region.CLUSTER, "", unhealthy=3, limit=5),
        Room(Region.DOMAIN, "a", unhealthy=2, limit=3),
        Room(Region.DOMAIN, "z", unhealthy=0, limit=2),
    ]


def test_a_cluster_without_targets_has_none() -> None:
    assert list(rooms_of_cluster(Standings(), POLICY, "")) == []
