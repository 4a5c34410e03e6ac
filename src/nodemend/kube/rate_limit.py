"""How fast we may ask: a bucket of tokens. Pure: time is an argument."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests a second in the long run, so many at once after a quiet time."""

    per_second: float = 50.0
    at_once: int = 100

    def __post_init__(self) -> None:
        if self.per_second <= 0 or self.at_once < 1:
            raise ValueError(
                f"{self.per_second} requests a second, {self.at_once} at once, is no rate at all"
            )


class TokenBucket:
    """Grants what the rate allows, in the order asked. Starts full."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens = float(rate.at_once)
        self._counted_at: float | None = None

    def take(self, now: float, leaving: int = 0) -> float:
        """0.0 when granted; otherwise nothing is taken, and this is how many seconds to wait.

        Whoever can wait takes none of the last few, and so is `leaving` them to whoever cannot.
        """
        if not 0 <= leaving < self._rate.at_once:
            raise ValueError(f"of {self._rate.at_once} at once, {leaving} cannot be left")
        if self._counted_at is not None:
            earned = max(now - self._counted_at, 0.0) * self._rate.per_second
            self._tokens = min(self._tokens + earned, float(self._rate.at_once))
        self._counted_at = now
        needed = 1.0 + leaving
        if self._tokens >= needed:
            self._tokens -= 1.0
            return 0.0
        return (needed - self._tokens) / self._rate.per_second
