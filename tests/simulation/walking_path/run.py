"""One seed, from its fault parameters to its verdict. Every fourth one is directed at one danger."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from simulation.cluster.world import Shape, World
from simulation.request_log import RequestDigests
from simulation.scheduler import Scheduler
from tests.simulation.beside import Beside
from tests.simulation.convergence import InvariantBrokenError, nothing_failed_unseen, settle
from tests.simulation.directing import family_of
from tests.simulation.walking_path.directed import Directed
from tests.simulation.walking_path.faults import FAULTS_CEASE, FaultRates, Faults
from tests.simulation.walking_path.invariants import Invariants
from tests.simulation.walking_path.leftovers import LockLost, LocksLeftOver
from tests.simulation.walking_path.permissions import PermissionWithdrawn, PolicyUnbound
from tests.simulation.walking_path.releases import RenewsInFlight, SpeaksAgain, TaintBeside, VolumesLeaveFirst
from tests.simulation.walking_path.restored_backups import RestoredBeforeTheRelease, RestoredConfirmation
from tests.simulation.walking_path.wrong_confirmations import ConfirmedTooLate, ReportsWithoutRenewing

SETTLED_BY = FAULTS_CEASE + 1500.0
FAMILIES: Final[tuple[type[Directed], ...]] = (
    PermissionWithdrawn,
    RestoredConfirmation,
    SpeaksAgain,
    ConfirmedTooLate,
    PolicyUnbound,
    LocksLeftOver,
    ReportsWithoutRenewing,
    PermissionWithdrawn,
    RestoredBeforeTheRelease,
    RenewsInFlight,
    SpeaksAgain,
    LockLost,
    VolumesLeaveFirst,
    TaintBeside,
)
"""Families of directed seeds, used in turn."""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one seed."""

    seed: int
    broken: str
    releases: int
    followed: int
    """Remediations that a user's order started."""
    faults: Counter[str]
    digest: str
    requests: RequestDigests | None
    steps: int
    simulated: float
    lines: tuple[str, ...] = ()


def play(
    seed: int,
    *,
    keep_trace: bool = False,
    until: float | None = None,
    beside: Beside[Invariants, World] | None = None,
) -> Run:
    """Run a seed to its end and check it; with `until`, only these simulated seconds, without the end.

    A directed seed is short and always runs to its end. Beside another campaign no seed is directed.
    """
    if beside is None and (family := family_of(seed, FAMILIES)):
        directed = family(seed, keep_trace=keep_trace)
        broken = directed.play_to_end()
        return _reported(seed, broken, directed.world, directed.invariants, directed.counts)
    beside = beside or Beside(Invariants())
    fault_rates = FaultRates.draw(Scheduler(seed).chance("weather"))
    invariants = beside.evaluate
    shape = Shape(machines=4, quality=fault_rates.quality, policy=fault_rates.policy, **beside.options)
    world = World(seed, shape, invariants.started, keep_trace=keep_trace)
    invariants.watch(world)
    beside.join(world)
    faults = Faults(world, fault_rates, invariants.note_policy)
    faults.plan()
    broken = ""
    try:
        world.run(FAULTS_CEASE if until is None else until)
        if until is None:
            settle(world, invariants, by=SETTLED_BY)
            beside.afterwards(lambda by: settle(world, invariants, by=by))
        nothing_failed_unseen(world.replicas)
    except InvariantBrokenError as failure:
        broken = str(failure)
    finally:
        world.close()
    return _reported(seed, broken, world, invariants, faults.counts)


def _reported(seed: int, broken: str, world: World, invariants: Invariants, faults: Counter[str]) -> Run:
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.releases,
        invariants.followed,
        faults,
        trace.digest,
        world.scheduler.requests.digests,
        world.scheduler.steps,
        world.scheduler.now,
        tuple(trace.lines),
    )
