"""The renewal interval of agents, and how long one clean API check counts."""

import pytest

from nodemend.protocol.timing import RENEWALS_A_SECOND, RenewalPace, pace_for


def test_the_usual_pace_gives_the_times_of_the_design() -> None:
    assert (RenewalPace().feed_lease, RenewalPace().contact_age) == (35.0, 15.0)


@pytest.mark.parametrize(
    ("nodes", "every"), [(1, 5.0), (3, 5.0), (5_000, 5.0), (5_001, 6.0), (10_000, 10.0), (100_000, 100.0)]
)
def test_a_large_cluster_renews_more_slowly(nodes: int, every: float) -> None:
    assert pace_for(nodes).every == every
    assert nodes / every <= RENEWALS_A_SECOND


def test_a_slower_pace_lets_nodes_run_longer_without_an_api_check() -> None:
    """Otherwise a large cluster would reset its healthy nodes."""
    slow = pace_for(100_000)

    assert slow.feed_lease > slow.failures * (slow.every + slow.deadline) + slow.rounds * slow.round_deadline
    assert slow.contact_age > slow.every + slow.deadline


def test_a_pace_that_needs_too_long_a_lease_is_used_as_far_as_possible() -> None:
    capped = RenewalPace(every=60.0).every_within(80.0)

    assert (capped, RenewalPace(every=capped).feed_lease) == (20.0, 80.0)


@pytest.mark.attack("V4")
@pytest.mark.parametrize(
    ("wanted", "longest", "rides", "lease"),
    [(0.0, 35.0, 0.0, 35.0), (60.0, 95.0, 60.0, 95.0), (60.0, 50.0, 15.0, 50.0), (60.0, None, 60.0, 95.0)],
)
def test_a_ride_through_lengthens_the_lease_as_far_as_the_feeder_bears_it(
    wanted: float, longest: float | None, rides: float, lease: float
) -> None:
    pace = RenewalPace().riding(wanted, longest)

    assert (pace.ride_through, pace.feed_lease) == (rides, lease)
    assert pace.riding(0.0, longest) == RenewalPace()


@pytest.mark.parametrize("nodes", [3, 5_000, 20_000, 100_000])
def test_looks_beside_renewals_are_few_where_nodes_are_many(nodes: int) -> None:
    pace = pace_for(nodes)
    peers = min(nodes - 1, 15)

    assert nodes / pace.read_interval(peers) <= 2.5 * RENEWALS_A_SECOND
    assert pace.read_deadline < pace.feed_lease
