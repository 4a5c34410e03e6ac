"""Rate limits per peer."""

from nodemend.agent.peer_responder import MOST_KNOWN, PerPeerRateLimit
from nodemend.kube.flowcontrol import Rate

ONE_A_SECOND = Rate(per_second=1.0, at_once=1)


def test_one_peer_s_requests_do_not_use_another_peer_s_budget() -> None:
    rate_limit = PerPeerRateLimit(ONE_A_SECOND)
    assert rate_limit.take("a", 0.0)
    assert not rate_limit.take("a", 0.0)
    assert rate_limit.take("b", 0.0)


def test_a_client_that_asks_too_often_still_gets_its_share() -> None:
    rate_limit = PerPeerRateLimit(ONE_A_SECOND)
    assert sum(rate_limit.take("a", tick / 10) for tick in range(101)) == 11


def test_if_refused_requests_cost_too_a_client_gets_nothing_until_it_stops() -> None:
    stern = PerPeerRateLimit(ONE_A_SECOND, stern=True)
    assert sum(stern.take("a", tick / 10) for tick in range(101)) == 1
    assert not stern.take("a", 10.9)
    assert stern.take("a", 11.9)


def test_an_idle_client_has_a_full_bucket_again() -> None:
    rate_limit = PerPeerRateLimit(Rate(per_second=1.0, at_once=2))
    assert rate_limit.has_rested("a", 0.0)
    rate_limit.take("a", 0.0)
    assert not rate_limit.has_rested("a", 0.9)
    assert rate_limit.has_rested("a", 1.0)


def test_the_limiter_remembers_a_bounded_number_of_the_most_recent_clients() -> None:
    rate_limit = PerPeerRateLimit(ONE_A_SECOND)
    for number in range(10 * MOST_KNOWN):
        assert rate_limit.take(f"n{number}", 0.0)
        rate_limit.take("always", 0.0)
    assert len(rate_limit._buckets) == MOST_KNOWN
    assert not rate_limit.take("always", 0.0)
    assert not rate_limit.take(f"n{10 * MOST_KNOWN - 1}", 0.0)
    assert rate_limit.take("n0", 0.0)
