"""Which remedy is next, when the one at work does not heal."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trying:
    """The remedy at work: which of the ladder, for how long, and whether it says that it has failed."""

    index: int
    seconds: float
    failed: bool


@dataclass(frozen=True, slots=True)
class Stay:
    """Give it time: so many seconds more, or as many as it wants."""

    again_in: float | None


@dataclass(frozen=True, slots=True)
class Climb:
    """Give it up. The next one begins when it is gone, never beside it."""

    to: int


@dataclass(frozen=True, slots=True)
class Spent:
    """It was the last one."""


def climb(timeouts: Sequence[float | None], trying: Trying) -> Stay | Climb | Spent:
    """`timeouts` are those of the ladder, in order; None for a remedy that is given all the time it wants."""
    limit = timeouts[trying.index]
    if not trying.failed and (limit is None or trying.seconds < limit):
        return Stay(None if limit is None else limit - trying.seconds)
    following = trying.index + 1
    return Climb(following) if following < len(timeouts) else Spent()
