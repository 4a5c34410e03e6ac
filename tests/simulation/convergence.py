"""The end of a simulated run: the world settles some time after the faults, and stays so."""

from collections.abc import Iterable
from typing import Protocol

from simulation.processes import SimulatedProcess
from simulation.scheduler import Scheduler


class InvariantBrokenError(AssertionError):
    """An invariant does not hold."""


class Watched(Protocol):
    """A world with invariants."""

    @property
    def scheduler(self) -> Scheduler: ...

    def run(self, until: float) -> None: ...


class Judge(Protocol):
    def settled(self) -> None:
        """Raise InvariantBrokenError if the world has not settled."""
        ...


class _Runs(Protocol):
    @property
    def process(self) -> SimulatedProcess: ...


def settle(world: Watched, evaluate: Judge, *, by: float, every: float = 150.0, stays: float = 150.0) -> None:
    """Wait until the world has settled, at most until `by`; then check that it stays so."""
    while world.scheduler.now < by:
        world.run(world.scheduler.now + every)
        try:
            evaluate.settled()
        except InvariantBrokenError:
            continue
        break
    world.run(world.scheduler.now + stays)
    evaluate.settled()


def nothing_failed_unseen(replicas: Iterable[_Runs]) -> None:
    for replica in replicas:
        if failures := replica.process.unjoined_failures:
            raise InvariantBrokenError(f"a task died unseen: {failures}")
