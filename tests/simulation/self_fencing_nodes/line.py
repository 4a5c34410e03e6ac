"""The time line of the simulated nodes, on the scheduler of their world."""

from collections.abc import Callable

from simulation.scheduler import Scheduler
from tests.simulation.self_fencing.time_line import Process, TimeLine


class SchedulerLine(TimeLine):
    """Events of a paused process wait; `thaw` resumes the process early."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._waiting: dict[Process, list[Callable[[], None]]] = {}

    @property
    def now(self) -> float:
        return self._scheduler.now

    @now.setter
    def now(self, _when: float) -> None:
        """Do nothing: only the scheduler advances the time."""

    def at(self, when: float, what: Callable[[], None], who: Process | None = None) -> None:
        if who is None:
            self._scheduler.at(when, what)
        else:
            self._scheduler.at(when, lambda: self._let(who, what))

    def run(self, until: float) -> None:
        self._scheduler.run(until)

    def thaw(self, who: Process) -> None:
        who.frozen_until = self.now
        self._go_on(who)

    def _let(self, who: Process, what: Callable[[], None]) -> None:
        if not who.alive:
            return
        if self.now >= who.frozen_until and who not in self._waiting:
            what()
            return
        if who not in self._waiting:
            self._waiting[who] = []
            self._scheduler.at(who.frozen_until, lambda: self._go_on(who))
        self._waiting[who].append(what)

    def _go_on(self, who: Process) -> None:
        """Run the waiting events in their order of arrival."""
        if self.now < who.frozen_until:
            self._scheduler.at(who.frozen_until, lambda: self._go_on(who))
            return
        for what in self._waiting.pop(who, ()):
            self.at(self.now, what, who)
