"""Where targets stand, and how many of each."""

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing, Standings
from nodemend.decide.guard_facts import Census

SICK = Entry(Standing.UNHEALTHY, "Ready=Unknown for 60 s")
HERE = Place("workers", "zone-a")


def test_only_news_is_news() -> None:
    standings = Standings()
    assert standings.enter("n1", HERE, SICK)
    assert not standings.enter("n1", HERE, SICK)
    assert standings.enter("n1", HERE, HEALTHY)
    assert not standings.enter("n1", HERE, HEALTHY)
    assert standings.enter("n1", Place("others", "zone-a"), HEALTHY)
    assert standings.strike("n1") == Place("others", "zone-a")
    assert standings.strike("n1") is None


def test_those_that_are_not_well_come_by_name_and_not_too_many() -> None:
    standings = Standings()
    for name in ("n3", "n1", "n2"):
        standings.enter(name, HERE, SICK)
    standings.enter("n0", HERE, HEALTHY)
    assert list(standings.of_check("workers").worst(2)) == [("n1", SICK), ("n2", SICK)]


def test_whoever_is_not_provably_healthy_is_counted_as_unhealthy() -> None:
    standings = Standings()
    for number, standing in enumerate(Standing):
        standings.enter(f"n{number}", HERE, Entry(standing))
    assert standings.census_of_check("workers") == Census(total=7, unhealthy=6, remediating=1)


PLACES = [Place(*where) for where in product(("x", "y"), ("", "zone-a", "zone-b"), ("", "edge"))]
places = st.sampled_from(PLACES)
entries = st.builds(Entry, st.sampled_from(Standing), st.sampled_from(["", "a"]))
deeds = st.lists(
    st.tuples(st.sampled_from(["n1", "n2", "n3"]), st.none() | st.tuples(places, entries)), max_size=30
)


@given(deeds)
def test_its_counts_are_those_of_a_plain_dict(done: list[tuple[str, tuple[Place, Entry] | None]]) -> None:
    standings, plain = Standings(), dict[str, tuple[Place, Entry]]()
    for name, stands in done:
        if stands is None:
            before = plain.pop(name, None)
            assert standings.strike(name) == (before[0] if before else None)
        else:
            assert standings.enter(name, *stands) == (plain.get(name) != stands)
            plain[name] = stands
    assert len(standings) == len(plain)
    assert {name: (standings.place_of(name), standings.find(name)) for name in plain} == plain
    for check in ("x", "y"):
        counts = Counter(entry.standing for place, entry in plain.values() if place.check == check)
        assert all(standings.of_check(check).count(standing) == counts[standing] for standing in Standing)
    for place in PLACES:
        in_domain = [
            entry.standing
            for other, entry in plain.values()
            if (other.cluster, other.domain) == (place.cluster, place.domain)
        ]
        assert standings.census_of_domain(place) == census(in_domain)
        in_cluster = [entry.standing for other, entry in plain.values() if other.cluster == place.cluster]
        assert standings.census_of_cluster(place.cluster) == census(in_cluster)
    assert standings.census() == census([entry.standing for _, entry in plain.values()])


def census(standings: list[Standing]) -> Census:
    healthy, busy = standings.count(Standing.HEALTHY), standings.count(Standing.REMEDIATING)
    return Census(len(standings), len(standings) - healthy, busy)
