"""Rate limits per peer."""

from nodemend.agent.peer_responder import MOST_KNOWN, Bucket, PerPeerRateLimit


def test_a_bucket_gives_what_it_holds_and_fills_again() -> None:
    bucket = Bucket(rate=2.0, most=3.0, level=3.0, at=100.0)
    assert [bucket.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take(100.5) for _ in range(2)] == [True, False]
    assert [bucket.take(200.0) for _ in range(4)] == [True, True, True, False]


def test_whoever_leaves_some_to_others_does_not_get_the_last() -> None:
    bucket = Bucket(rate=1.0, most=3.0, level=3.0, at=0.0)
    assert [bucket.take(0.0, leaving=2.0) for _ in range(2)] == [True, False]
    assert [bucket.take(0.0) for _ in range(3)] == [True, True, False]


def test_nobody_takes_from_another() -> None:
    rate_limit = PerPeerRateLimit(1.0, most=1.0)
    assert rate_limit.take("a", 0.0)
    assert not rate_limit.take("a", 0.0)
    assert rate_limit.take("b", 0.0)


def test_who_asks_too_much_gets_its_share_all_the_same() -> None:
    rate_limit = PerPeerRateLimit(1.0, most=1.0)
    assert sum(rate_limit.take("a", tick / 10) for tick in range(101)) == 11


def test_unless_asking_in_vain_costs_too_then_it_gets_nothing_until_it_stops() -> None:
    stern = PerPeerRateLimit(1.0, most=1.0, stern=True)
    assert sum(stern.take("a", tick / 10) for tick in range(101)) == 1
    assert not stern.take("a", 10.9)
    assert stern.take("a", 11.9)


def test_who_has_asked_for_nothing_in_a_while_has_rested() -> None:
    rate_limit = PerPeerRateLimit(1.0, most=2.0)
    assert rate_limit.has_rested("a", 0.0)
    rate_limit.take("a", 0.0)
    assert not rate_limit.has_rested("a", 0.9)
    assert rate_limit.has_rested("a", 1.0)


def test_however_many_come_only_so_many_are_remembered_and_the_last_of_them() -> None:
    rate_limit = PerPeerRateLimit(1.0, most=1.0)
    for number in range(10 * MOST_KNOWN):
        assert rate_limit.take(f"n{number}", 0.0)
        rate_limit.take("always", 0.0)
    assert len(rate_limit) == MOST_KNOWN
    assert not rate_limit.take("always", 0.0)
    assert not rate_limit.take(f"n{10 * MOST_KNOWN - 1}", 0.0)
    assert rate_limit.take("n0", 0.0)
