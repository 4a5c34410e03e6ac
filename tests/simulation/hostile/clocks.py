"""Wall clocks of replicas and kubelets that are minutes apart. A fault counts when the program reads it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nodemend.testing.processes import HostClock
from nodemend.testing.scheduler import Scheduler
from tests.simulation.hostile.kinds import Kind, Tally
from tests.simulation.hostile.surroundings import Around

APART: Final = (-3600.0, -600.0, -180.0, -45.0, 45.0, 180.0, 600.0, 3600.0)


@dataclass(slots=True)
class ReadClock(HostClock):
    """Knows whether its host's wall clock was read since it was set wrong."""

    tally: Tally | None = None
    unread: bool = False

    def wall(self, true_now: float) -> datetime:
        if self.unread and self.tally is not None:
            self.unread = False
            self.tally.take_effect(Kind.CLOCKS)
        return HostClock.wall(self, true_now)


def plan(around: Around) -> None:
    """From the beginning, and some change on the way."""
    for replica in around.replicas:
        clock = ReadClock(rate=replica.clock.rate, tally=around.tally)
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
        around.tally.made[Kind.CLOCKS] += 1
        clock.unread = True


class _Skewed:
    """A machine's scheduler with another wall clock."""

    def __init__(self, scheduler: Scheduler, error: float) -> None:
        self._scheduler = scheduler
        self._error = timedelta(seconds=error)

    def wall(self) -> datetime:
        return self._scheduler.wall() + self._error

    def __getattr__(self, name: str) -> object:
        return getattr(self._scheduler, name)
