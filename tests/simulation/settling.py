"""How a simulated run ends: all is well some time after the faults have ceased, and stays so."""

from collections.abc import Iterable
from typing import Protocol

from nodemend.testing.processes import SimulatedProcess
from nodemend.testing.scheduler import Scheduler


class InvariantBrokenError(AssertionError):
    """The one thing that must never happen."""


class Watched(Protocol):
    """A world, and who stands beside it."""

    @property
    def scheduler(self) -> Scheduler: ...

    def run(self, until: float) -> None: ...


class Judge(Protocol):
    def settled(self) -> None:
        """Raises InvariantBrokenError while something is not well."""
        ...


class _Runs(Protocol):
    @property
    def process(self) -> SimulatedProcess: ...


def settle(world: Watched, judge: Judge, *, by: float, every: float = 150.0, stays: float = 150.0) -> None:
    """Wait until all is well, at most until `by`, and then a while longer: well must also stay well."""
    while world.scheduler.now < by:
        world.run(world.scheduler.now + every)
        try:
            judge.settled()
        except InvariantBrokenError:
            continue
        break
    world.run(world.scheduler.now + stays)
    judge.settled()


def nothing_failed_unseen(replicas: Iterable[_Runs]) -> None:
    for replica in replicas:
        if failures := replica.process.unjoined_failures:
            raise InvariantBrokenError(f"a task died unseen: {failures}")
