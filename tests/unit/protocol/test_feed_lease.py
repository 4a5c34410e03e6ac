"""The feed lease, and the check before every ping."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.protocol.feed_lease import (
    FeedLease,
    FenceRequested,
    GapTooLong,
    Lead,
    LeaseOver,
    MayPing,
    OtherBoot,
    PingVerdict,
    TooFarAhead,
    evaluate_ping,
    evaluate_record,
    fence_now,
    merge,
    renew,
)

SECOND = 1_000_000_000
leases = st.builds(FeedLease, st.just("b"), st.integers(0, 100), st.booleans())


def test_a_new_lease_allows_nothing() -> None:
    assert evaluate_ping(FeedLease("b"), None, 10, 0) == LeaseOver(0)


def test_a_renewal_counts_from_the_sending_and_never_shortens() -> None:
    lease = renew(FeedLease("b"), 10, 35)
    assert lease == FeedLease("b", 45)
    assert renew(lease, 5, 35) == lease
    assert renew(lease, 11, 35) == FeedLease("b", 46)


@given(leases, st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100))))
def test_a_condemned_lease_cannot_be_revived(lease: FeedLease, renewals: list[tuple[int, int]]) -> None:
    fence_requested = fence_now(lease)
    for observed_at, length in renewals:
        fence_requested = merge(renew(fence_requested, observed_at, length), FeedLease("b", observed_at))
    assert fence_requested == FeedLease("b", 0, fence_requested=True)


@given(leases, leases)
def test_two_records_say_together_what_either_says(one: FeedLease, other: FeedLease) -> None:
    both = merge(one, other)
    assert both == merge(other, one)
    assert both.fence_requested == (one.fence_requested or other.fence_requested)
    assert both.until == (0 if both.fence_requested else max(one.until, other.until))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (FeedLease("b", 135), FeedLease("b", 135)),
        (FeedLease("b", 0, fence_requested=True), FeedLease("b", 0, fence_requested=True)),
        (FeedLease("b", 138), TooFarAhead(3)),
        (FeedLease("a", 110), OtherBoot()),
        (FeedLease("a", 110, fence_requested=True), OtherBoot()),
    ],
)
def test_the_accepted_records(record: FeedLease, expected: FeedLease | OtherBoot | TooFarAhead) -> None:
    assert evaluate_record(record, "b", 35, 100) == expected


@pytest.mark.parametrize(
    ("lease", "last_ping", "now", "expected"),
    [
        (FeedLease("b", 100), None, 99, MayPing()),
        (FeedLease("b", 100), None, 100, LeaseOver(100)),
        (FeedLease("b", 100), 90, 99, MayPing()),
        (FeedLease("b", 100), 89, 99, GapTooLong(10)),
        (FeedLease("b", 100), 80, 99, GapTooLong(19)),
        (FeedLease("b", 100), 95, 104, LeaseOver(100)),
        # Both apply: the gap is the one that cannot be undone.
        (FeedLease("b", 100), 95, 105, GapTooLong(10)),
        (FeedLease("b", 100, fence_requested=True), 95, 96, FenceRequested()),
        (FeedLease("b", 100, fence_requested=True), 0, 96, FenceRequested()),
    ],
)
def test_may_it_ping(lease: FeedLease, last_ping: int | None, now: int, expected: PingVerdict) -> None:
    assert evaluate_ping(lease, last_ping, 10, now) == expected


@pytest.mark.slow
@pytest.mark.attack("K5")
@given(
    st.lists(st.tuples(st.integers(1, 4 * SECOND), st.integers(-100, 120)), min_size=1, max_size=60),
    st.integers(0, 59),
)
def test_a_lease_ends_by_the_first_of_the_two_clocks(steps: list[tuple[int, int]], given_at: int) -> None:
    """BOOTTIME is slewed by up to a tenth. A lease starts at any read, and never lasts longer by RAW."""
    length = 35 * SECOND
    lead, boot, raw = Lead(length), 100 * SECOND, 7 * SECOND
    begun: tuple[int, int] | None = None
    for number, (passed, permille) in enumerate(steps):
        boot += passed
        raw += passed + passed * permille // 1000
        ahead = lead.read(boot, raw)
        assert ahead >= 0
        if begun is None and number == given_at % len(steps):
            begun = boot, raw
        if begun is not None and raw - begun[1] >= length:
            assert boot + ahead >= begun[0] + length


@pytest.mark.attack("K5")
def test_neither_equal_clocks_nor_a_suspended_clock_have_a_lead() -> None:
    lead = Lead(35 * SECOND)
    assert [lead.read(second * SECOND, second * SECOND) for second in range(100)] == [0] * 100
    assert lead.read(400 * SECOND, 100 * SECOND) == 0


@pytest.mark.attack("K5")
def test_what_the_other_clock_gained_within_a_lease_ends_it_sooner() -> None:
    lead = Lead(35 * SECOND)
    *_, ahead = (lead.read(second * SECOND, second * SECOND * 11 // 10) for second in range(31))
    assert ahead == 3 * SECOND
    lease = FeedLease("b", 34 * SECOND)
    assert evaluate_ping(lease, None, 0, 31 * SECOND - 1, lead=ahead) == MayPing()
    assert evaluate_ping(lease, None, 0, 31 * SECOND, lead=ahead) == LeaseOver(34 * SECOND)
