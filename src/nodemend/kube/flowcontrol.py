"""The wait after n failures in a row, and the rate of requests. Pure: time and chance are arguments."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Doubles from `first` to `most` seconds; each wait is extended by up to `spread` of itself.

    Waits are only extended, never shortened, so request budgets can rely on the shortest wait.
    """

    first: float = 0.8
    most: float = 30.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.most:
            raise ValueError(f"a back-off from {self.first} s to {self.most} s never waits as it says")
        if self.spread < 0:
            raise ValueError(f"a spread of {self.spread} would shorten waits")

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after `failures` in a row (1 is the first); `chance` is in [0, 1)."""
        doublings = min(max(failures, 1) - 1, 63)
        shortest = min(self.first * 2.0**doublings, self.most)
        return shortest * (1.0 + self.spread * chance)


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests per second in the long run, and the number of requests at once after an idle time."""

    per_second: float = 50.0
    at_once: int = 100

    def __post_init__(self) -> None:
        if self.per_second <= 0 or self.at_once < 1:
            raise ValueError(
                f"{self.per_second} requests a second, {self.at_once} at once, is no rate at all"
            )


class TokenBucket:
    """Grants requests at the rate, in the order of the calls. Starts full."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens = float(rate.at_once)
        self._counted_at: float | None = None

    def take(self, now: float, leaving: int = 0) -> float:
        """Return 0.0 if granted. Otherwise take nothing, and return the seconds to wait.

        A caller that can wait leaves the last `leaving` tokens to callers that cannot.
        """
        if not 0 <= leaving < self._rate.at_once:
            raise ValueError(f"of {self._rate.at_once} at once, {leaving} cannot be left")
        self._earn(now)
        needed = 1.0 + leaving
        if self._tokens >= needed:
            self._tokens -= 1.0
            return 0.0
        return (needed - self._tokens) / self._rate.per_second

    def is_full(self, now: float) -> bool:
        self._earn(now)
        return self._tokens == self._rate.at_once

    def empty(self) -> None:
        self._tokens = 0.0

    def _earn(self, now: float) -> None:
        if self._counted_at is not None:
            earned = max(now - self._counted_at, 0.0) * self._rate.per_second
            self._tokens = min(self._tokens + earned, float(self._rate.at_once))
        self._counted_at = now
