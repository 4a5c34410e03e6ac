"""The bucket grants no more than the rate, over any stretch of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.kube.flowcontrol import Rate, TokenBucket


def test_a_quiet_time_allows_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(Rate(per_second=10, at_once=3))

    waits = [bucket.take(now) for now in (0.0, 0.0, 0.0, 0.0, 0.05, 0.1)]

    assert waits == [0.0, 0.0, 0.0, pytest.approx(0.1), pytest.approx(0.05), 0.0]


def test_a_refused_attempt_costs_nothing() -> None:
    bucket = TokenBucket(Rate(per_second=1, at_once=1))
    bucket.take(0.0)
    for _ in range(100):
        bucket.take(0.5)

    assert bucket.take(1.0) == 0.0


@given(st.lists(st.floats(0, 0.5), max_size=200))
def test_no_stretch_of_time_sees_more_than_burst_and_rate(gaps: list[float]) -> None:
    bucket, now = TokenBucket(Rate(per_second=5, at_once=4)), 100.0
    granted: list[float] = []
    for gap in gaps:
        now += gap
        if bucket.take(now) == 0.0:
            granted.append(now)

    for first, begin in enumerate(granted):
        for last in range(first, len(granted)):
            assert last - first + 1 <= 4 + 5 * (granted[last] - begin) + 1e-6


def test_low_priority_requests_leave_the_last_tokens_to_urgent_requests() -> None:
    bucket = TokenBucket(Rate(per_second=10, at_once=3))

    assert [bucket.take(0.0, leaving=2) for _ in range(2)] == [0.0, pytest.approx(0.1)]
    assert [bucket.take(0.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.1)]
    assert bucket.take(0.1, leaving=2) == pytest.approx(0.2)
    assert bucket.take(0.3, leaving=2) == 0.0


def test_the_reserve_cannot_exceed_the_capacity() -> None:
    with pytest.raises(ValueError, match="cannot be left"):
        TokenBucket(Rate(per_second=10, at_once=3)).take(0.0, leaving=3)


def test_a_clock_that_steps_back_grants_nothing_extra() -> None:
    bucket = TokenBucket(Rate(per_second=1, at_once=1))
    bucket.take(10.0)

    assert bucket.take(5.0) == pytest.approx(1.0)


def test_no_rate_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="no rate"):
        Rate(per_second=0)
