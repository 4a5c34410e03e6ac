"""Whose turn it may be: which queues must ask the guard now, and of which the answer cannot have changed.

A storm can leave thousands of nodes in hundreds of failure domains waiting for hours. Were each queue asked
at every moment, a simulation of them would take minutes.
"""

from collections.abc import Collection, Iterator

from nodemend.cli.simulate.checker import SimulatedChecker
from nodemend.cli.simulate.queues import Alike, Queue, Queues
from nodemend.cli.simulate.spells import Sort, sort_of
from nodemend.controllers.checking.guarding import Moment
from nodemend.controllers.checking.standings import Place
from nodemend.decide.guard_holds import Settling
from nodemend.decide.holds import HoldReason


class Turns:
    """What the guard says of everybody under a check, it says of each of them: a queue can only be worse off.

    So a queue is asked when something happened in its place, when the answer for all has changed, and when
    its place may have settled.
    """

    def __init__(self, queues: Queues, checker: SimulatedChecker, *, thorough: bool) -> None:
        self._queues = queues
        self._checker = checker
        self._thorough = thorough
        self._told: dict[str, Sort | None] = {}
        self._now: dict[str, Sort | None] = {}
        self.for_all: dict[str, HoldReason | None] = {}
        """The last answers for everybody under a check."""

    def to_ask(
        self, moment: Moment, happened_in: Collection[Place], *, woken: bool
    ) -> Iterator[tuple[str, Queue]]:
        """Whoever stands first in each queue that must ask, in their order."""
        self.for_all = self._checker.ask_for_all(moment)
        self._now = {check: sort_of(held) if held else None for check, held in self.for_all.items()}
        # Two checks may have targets in one failure domain.
        domains = {place.domain for place in happened_in if place.domain}
        for name, alike, queue in self._queues.in_order():
            near = alike.place in happened_in or alike.place.domain in domains
            if near or self._must_ask(alike, queue, woken=woken):
                yield name, queue

    def all_told(self) -> None:
        """Nobody may begin now, and whoever had to ask knows why."""
        self._told = self._now

    def _must_ask(self, alike: Alike, queue: Queue, *, woken: bool) -> bool:
        check = alike.place.check
        if self._thorough or alike.alone or self._now[check] != self._told.get(check):
            return True
        # A failure domain settles by itself.
        return woken and queue.told is not None and queue.told[0] == Settling.__name__
