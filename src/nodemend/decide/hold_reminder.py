"""When a hold that lasts is told again: at growing intervals, and for as long as it lasts."""

from dataclasses import dataclass
from typing import Final

FIRST: Final = 300.0
"""Seconds until a hold is told again for the first time. What is held for less is told when it begins."""
LONGEST: Final = 2700.0
"""Less than the hour for which an API server keeps an event: somebody who looks always finds one."""


@dataclass(frozen=True, slots=True)
class Lasting:
    """A hold since when, when it was last told, and for how long then not. Moments are of our own clock."""

    since: float
    told_at: float
    interval: float = FIRST

    def due_in(self, now: float) -> float:
        return max(0.0, self.told_at + self.interval - now)


@dataclass(frozen=True, slots=True)
class Tell:
    """It is due: so many seconds it has lasted."""

    lasted: float


def remind(before: Lasting | None, *, held: bool, now: float) -> tuple[Lasting | None, Tell | None]:
    """What is remembered of it from now on, and whether it is told now. A hold that ends is forgotten."""
    if not held:
        return None, None
    known = before or Lasting(since=now, told_at=now)
    if known.due_in(now) > 0:
        return known, None
    return Lasting(known.since, now, min(2 * known.interval, LONGEST)), Tell(now - known.since)
