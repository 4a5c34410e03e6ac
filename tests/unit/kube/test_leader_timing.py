"""Times that do not fit together are refused with the sum that shows it."""

import pytest

from nodemend.kube.leader_election import LeaseTiming, TimingError


def test_the_defaults_fit_together() -> None:
    timing = LeaseTiming()

    assert timing.renew_deadline + timing.stop_within < timing.untaken_for < timing.lease_duration


def test_a_leader_that_could_outlive_its_lease_is_refused_with_the_sum() -> None:
    with pytest.raises(TimingError, match=r"13 \+ stop_within 2 = 15 s, but .* 1\.00% .* only 14\.70 s"):
        LeaseTiming(renew_deadline=13.0)


def test_the_same_times_fit_when_clocks_are_exact() -> None:
    assert LeaseTiming(renew_deadline=13.0, clock_rate_error=0.0).untaken_for == 15


def test_one_lost_answer_must_not_cost_the_leadership() -> None:
    with pytest.raises(TimingError, match=r"2\.4 .* 4 .* 4 = 10\.4 s, but renew_deadline is 10"):
        LeaseTiming(request_timeout=4.0)


@pytest.mark.parametrize("name", ["lease_duration", "renew_deadline", "retry_period", "request_timeout"])
def test_nothing_takes_no_time(name: str) -> None:
    with pytest.raises(TimingError, match=name):
        LeaseTiming(**{name: 0})


@pytest.mark.parametrize("rate", [-0.01, 0.5])
def test_a_clock_rate_error_is_a_small_share(rate: float) -> None:
    with pytest.raises(TimingError, match="clock_rate_error"):
        LeaseTiming(clock_rate_error=rate)


@pytest.mark.parametrize("name", ["stop_within", "retry_jitter"])
def test_no_allowance_is_negative(name: str) -> None:
    with pytest.raises(TimingError, match="negative"):
        LeaseTiming(**{name: -1.0})  # type: ignore[arg-type]
