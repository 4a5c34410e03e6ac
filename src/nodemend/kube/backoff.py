"""The wait after n failures in a row. Pure: chance is an argument."""

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
