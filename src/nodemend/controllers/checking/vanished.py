"""Targets whose object was deleted while they were not well.

They count on for a while. Else a storm would seem to end as somebody deletes its nodes, and the guard would
open for those that are left.
"""

from collections.abc import Iterable
from typing import Final

from nodemend.controllers.checking.standings import Entry, Standing, Standings

COUNTED_FOR: Final = 600.0
"""Seconds: as long as most thresholds last, and a storm takes to settle after that."""
COUNT_ON: Final = frozenset({Standing.UNHEALTHY, Standing.HELD, Standing.REMEDIATING})
"""Not who is only suspect: so nodes go when a cluster shrinks."""
VANISHED: Final = Entry(
    Standing.VANISHED,
    message=f"Its Node was deleted while it was not well, and counts as unhealthy for {COUNTED_FOR:.0f} s:"
    " a storm does not end because its nodes go.",
)


class Vanished:
    """One leadership's memory. What it forgets by a change of leaders, a storm that settles anew covers."""

    def __init__(self, standings: Standings) -> None:
        self._standings = standings
        self._until: dict[str, float] = {}

    @property
    def names(self) -> Iterable[str]:
        return tuple(self._until)

    def count_on(self, target: str, now: float) -> float | None:
        """It is gone. For how many seconds more it counts; None when it does not."""
        stood = self._standings.stood(target)
        if stood is not None and stood[1].standing in COUNT_ON:
            self._until[target] = now + COUNTED_FOR
            self._standings.enter(target, stood[0], VANISHED)
        left = self._until.get(target, now) - now
        if left > 0:
            return left
        self.forget(target)
        return None

    def forget(self, target: str) -> None:
        self._until.pop(target, None)
