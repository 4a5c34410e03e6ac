"""The times of a leader election, and why they fit together."""

from dataclasses import dataclass


class TimingError(ValueError):
    """Times that do not fit together, with the sum that shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """All in seconds, on the clock of whoever counts them. `leader_lease` says what rests on each."""

    lease_duration: int = 15
    """Others leave an unchanged Lease alone for this long."""
    renew_deadline: float = 10.0
    """A leader begins nothing later than this after it sent its last successful renewal."""
    stop_within: float = 2.0
    """What the work gets to end after it was cancelled."""
    retry_period: float = 2.0
    """From one look or renewal to the next."""
    retry_jitter: float = 0.2
    """The share of the retry period by which it may be longer, drawn each time."""
    request_timeout: float = 3.0
    """One request never takes longer."""
    clock_rate_error: float = 0.01
    """How far any monotonic clock may run fast or slow: 0.01 is one second in a hundred."""

    def __post_init__(self) -> None:
        for name in ("lease_duration", "renew_deadline", "retry_period", "request_timeout"):
            if getattr(self, name) <= 0:
                raise TimingError(f"{name} is {getattr(self, name)}; it must be more than 0")
        if self.stop_within < 0 or self.retry_jitter < 0:
            raise TimingError("stop_within and retry_jitter cannot be negative")
        if not 0 <= self.clock_rate_error < 0.5:
            raise TimingError(f"clock_rate_error is {self.clock_rate_error}; it must be in [0, 0.5)")
        self._refuse_overlap()
        self._refuse_haste()

    @property
    def untaken_for(self) -> float:
        """How long after sending a renewal nobody else can lead: our clock slow, theirs fast."""
        return self.lease_duration * (1 - self.clock_rate_error) / (1 + self.clock_rate_error)

    def _refuse_overlap(self) -> None:
        needed = self.renew_deadline + self.stop_within
        if needed > self.untaken_for:
            raise TimingError(
                f"renew_deadline {self.renew_deadline:g} + stop_within {self.stop_within:g} = {needed:g} s, "
                f"but with clocks off by {self.clock_rate_error:.2%} a lease of {self.lease_duration} s is "
                f"safe for only {self.untaken_for:.2f} s"
            )

    def _refuse_haste(self) -> None:
        longest_pause = self.retry_period * (1 + self.retry_jitter)
        needed = longest_pause + 2 * self.request_timeout
        if needed > self.renew_deadline:
            raise TimingError(
                f"retry_period {longest_pause:g} (with jitter) + a renewal without an answer "
                f"{self.request_timeout:g} + the look after it {self.request_timeout:g} = {needed:g} s, but "
                f"renew_deadline is {self.renew_deadline:g}: one lost answer would cost the leadership"
            )
