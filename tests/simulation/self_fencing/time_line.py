"""True time, which no simulated process can read: the event queue, and the reading of each clock."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count


class TimeLine:
    """Events in the order of their times; simultaneous events in the order in which they were planned.

    An event may belong to a process; it then waits while the process is paused.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Process | None, Callable[[], None]]] = []
        self._at_once: deque[tuple[Process | None, Callable[[], None]]] = deque()
        """Events that were planned for the current time. All other due events were planned before them."""
        self._numbers = count()

    def at(self, when: float, what: Callable[[], None], who: "Process | None" = None) -> None:
        if when > self.now:
            heappush(self._planned, (when, next(self._numbers), who, what))
        else:
            self._at_once.append((who, what))

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        self.at(self.now + seconds, what)

    def run(self, until: float) -> None:
        planned, at_once = self._planned, self._at_once
        while True:
            if at_once and not (planned and planned[0][0] <= self.now):
                who, what = at_once.popleft()
            elif planned and planned[0][0] <= until:
                self.now, _, who, what = heappop(planned)
            else:
                break
            if who is None:
                what()
            elif who.alive:
                if self.now < who.frozen_until:
                    self.at(who.frozen_until, what, who)
                else:
                    what()
        self.now = until


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that runs slightly fast or slow from its start."""

    line: TimeLine
    rate: float
    began: float

    def now(self) -> float:
        return (self.line.now - self.began) * self.rate

    def true(self, shown: float) -> float:
        """Return the true time at which the clock shows this, or 1 µs later.

        Numbers are rounded, and no process may wake too early.
        """
        return self.began + shown / self.rate + 1e-6


class Process:
    """A process that can be paused, resumed and killed. No event of a dead process happens."""

    def __init__(self, line: TimeLine) -> None:
        self._line = line
        self.alive = True
        self.frozen_until = 0.0

    def freeze(self, seconds: float) -> None:
        self.frozen_until = max(self.frozen_until, self._line.now + seconds)

    def do(self, what: Callable[[], None], when: float = 0.0) -> None:
        """Run `what` at this true time, or later if the process is paused."""
        self._line.at(when if when > self.frozen_until else self.frozen_until, what, self)
