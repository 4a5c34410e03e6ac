"""Whose turn it may be: which queues must ask the guard now, and of which the answer cannot have changed.

A storm can leave thousands of nodes in hundreds of failure domains waiting for hours. Were each queue asked
at every moment, a simulation of them would take minutes.
"""

from collections.abc import Collection, Iterator

from nodemend.cli.simulate.checker import SimulatedChecker
from nodemend.cli.simulate.queues import Queue, Queues
from nodemend.cli.simulate.spells import Sort, sort_of
from nodemend.controllers.checking.guarding import Moment
from nodemend.controllers.checking.standings import Place
from nodemend.decide.guard_holds import Settling
from nodemend.decide.holds import HoldReason


class Turns:
    """What the guard says of everybody under a check, it says of each of them: a queue can only be worse off.

    So a queue is asked when something happened in its place or the place may have settled, and all are when
    the answer for everybody has changed.
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
        chosen = set(self._queues.near(happened_in))
        if self._thorough or self._now != self._told:
            chosen.update(self._queues.all())
        elif woken:
            # A failure domain settles by itself.
            chosen.update(self._queues.told(Settling.__name__))
        yield from self._queues.in_order(chosen)

    def all_told(self) -> None:
        """Nobody may begin now, and whoever had to ask knows why."""
        self._told = self._now
