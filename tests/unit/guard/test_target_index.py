"""The state of each target, and the counts."""

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from nodemend.guard.state import HEALTHY, CountScope, TargetIndex, TargetState, TargetStatus
from nodemend.safety.guard import HealthCounts

SICK = TargetStatus(TargetState.UNHEALTHY, "Ready=Unknown for 60 s")
HERE = CountScope("workers", "zone-a")


def test_only_changes_are_reported() -> None:
    target_index = TargetIndex()
    assert target_index.upsert("n1", HERE, SICK)
    assert not target_index.upsert("n1", HERE, SICK)
    assert target_index.upsert("n1", HERE, HEALTHY)
    assert not target_index.upsert("n1", HERE, HEALTHY)
    assert target_index.upsert("n1", CountScope("others", "zone-a"), HEALTHY)
    assert target_index.remove("n1") == CountScope("others", "zone-a")
    assert target_index.remove("n1") is None


def test_unhealthy_targets_are_listed_by_name_up_to_a_limit() -> None:
    target_index = TargetIndex()
    for name in ("n3", "n1", "n2"):
        target_index.upsert(name, HERE, SICK)
    target_index.upsert("n0", HERE, HEALTHY)
    assert list(target_index.of_check("workers").worst(2)) == [("n1", SICK), ("n2", SICK)]


def test_a_target_that_is_not_provably_healthy_counts_as_unhealthy() -> None:
    target_index = TargetIndex()
    for number, state in enumerate(TargetState):
        target_index.upsert(f"n{number}", HERE, TargetStatus(state))
    assert target_index.health_counts_of_check("workers") == HealthCounts(total=7, unhealthy=6, remediating=1)


PLACES = [CountScope(*where) for where in product(("x", "y"), ("", "zone-a", "zone-b"), ("", "edge"))]
places = st.sampled_from(PLACES)
entries = st.builds(TargetStatus, st.sampled_from(TargetState), st.sampled_from(["", "a"]))
actions = st.lists(
    st.tuples(st.sampled_from(["n1", "n2", "n3"]), st.none() | st.tuples(places, entries)), max_size=30
)


@given(actions)
def test_its_counts_are_those_of_a_plain_dict(
    done: list[tuple[str, tuple[CountScope, TargetStatus] | None]],
) -> None:
    target_index, plain = TargetIndex(), dict[str, tuple[CountScope, TargetStatus]]()
    for name, stands in done:
        if stands is None:
            before = plain.pop(name, None)
            assert target_index.remove(name) == (before[0] if before else None)
        else:
            assert target_index.upsert(name, *stands) == (plain.get(name) != stands)
            plain[name] = stands
    assert len(target_index) == len(plain)
    assert {name: (target_index.place_of(name), target_index.find(name)) for name in plain} == plain
    for check in ("x", "y"):
        counts = Counter(entry.state for place, entry in plain.values() if place.check == check)
        assert all(target_index.of_check(check).count(state) == counts[state] for state in TargetState)
    for place in PLACES:
        in_domain = [
            entry.state
            for other, entry in plain.values()
            if (other.cluster, other.domain) == (place.cluster, place.domain)
        ]
        assert target_index.health_counts_of_domain(place) == health_counts(in_domain)
        in_cluster = [entry.state for other, entry in plain.values() if other.cluster == place.cluster]
        assert target_index.health_counts_of_cluster(place.cluster) == health_counts(in_cluster)
    assert target_index.health_counts() == health_counts([entry.state for _, entry in plain.values()])


def health_counts(target_index: list[TargetState]) -> HealthCounts:
    healthy, busy = target_index.count(TargetState.HEALTHY), target_index.count(TargetState.REMEDIATING)
    return HealthCounts(len(target_index), len(target_index) - healthy, busy)
