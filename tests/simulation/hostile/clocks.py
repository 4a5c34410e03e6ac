"""Wall clocks of replicas and kubelets differ by minutes. A fault counts when the program reads the clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from simulation.processes import HostClock
from simulation.scheduler import Scheduler
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Counts, Kind

APART: Final = (-3600.0, -600.0, -180.0, -45.0, 45.0, 180.0, 600.0, 3600.0)


@dataclass(slots=True)
class ReadClock(HostClock):
    """Detects reads of its host's wall clock after the clock was set wrong."""

    counts: Counts | None = None
    unread: bool = False

    def wall(self, true_now: float) -> datetime:
        if self.unread and self.counts is not None:
            self.unread = False
            self.counts.take_effect(Kind.CLOCKS)
        return HostClock.wall(self, true_now)


def plan(around: Around) -> None:
    """Set clocks wrong at the start, and some of them again during the run."""
    for replica in around.replicas:
        clock = ReadClock(rate=replica.clock.rate, counts=around.counts)
        replica.clock = clock
        replica.process.clock = clock
        _set(around, clock)
    clocks = [replica.clock for replica in around.replicas]
    around.at_some_times(4, lambda: _set(around, around.chance.choice(clocks)))
    for machine in around.machines.values():
        if around.chance.random() < 0.5:
            machine._scheduler = _Skewed(around.scheduler, around.chance.choice(APART))  # type: ignore[assignment]


def _set(around: Around, clock: HostClock) -> None:
    seconds = around.chance.choice(APART)
    clock.wall_error = timedelta(seconds=seconds)
    around.note(f"the wall clock of a replica is wrong by {seconds:.0f} s")
    if isinstance(clock, ReadClock):
        around.counts.made[Kind.CLOCKS] += 1
        clock.unread = True


class _Skewed:
    """A machine's scheduler with a different wall clock."""

    def __init__(self, scheduler: Scheduler, error: float) -> None:
        self._scheduler = scheduler
        self._error = timedelta(seconds=error)

    def wall(self) -> datetime:
        return self._scheduler.wall() + self._error

    def __getattr__(self, name: str) -> object:
        return getattr(self._scheduler, name)
