"""How often agents renew, and for how long one clean look lasts."""

import pytest

from nodemend.decide.renewal_pace import RENEWALS_A_SECOND, RenewalPace, pace_for


def test_the_usual_pace_gives_the_times_of_the_design() -> None:
    assert (RenewalPace().feed_lease, RenewalPace().contact_age) == (35.0, 15.0)


@pytest.mark.parametrize(
    ("nodes", "every"), [(1, 5.0), (3, 5.0), (5_000, 5.0), (5_001, 6.0), (10_000, 10.0), (100_000, 100.0)]
)
def test_a_large_cluster_renews_more_slowly(nodes: int, every: float) -> None:
    assert pace_for(nodes).every == every
    assert nodes / every <= RENEWALS_A_SECOND


def test_a_slower_pace_lets_nodes_live_longer_without_a_look() -> None:
    """Otherwise a large cluster would reset its healthy nodes."""
    slow = pace_for(100_000)

    assert slow.feed_lease > slow.failures * (slow.every + slow.deadline) + slow.rounds * slow.round_deadline
    assert slow.contact_age > slow.every + slow.deadline


def test_a_pace_that_asks_for_too_long_a_lease_is_taken_up_as_far_as_that_goes() -> None:
    borne = RenewalPace(every=60.0).every_within(80.0)

    assert (borne, RenewalPace(every=borne).feed_lease) == (20.0, 80.0)
