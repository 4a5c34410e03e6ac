"""One seed of the checks, from its fault parameters to its verdict. Every fourth is directed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulation.request_log import RequestDigests
from simulation.scheduler import Scheduler
from tests.simulation.beside import Beside
from tests.simulation.checks.answerers import Fixer, Owner
from tests.simulation.checks.directed import (
    Directed,
    EvenControlPlane,
    FailTogether,
    NotPermitted,
    Storm,
)
from tests.simulation.checks.faults import FAULTS_CEASE, FaultRates, Faults
from tests.simulation.checks.invariants import Invariants
from tests.simulation.checks.recoveries import Switcher
from tests.simulation.checks.world import ChecksWorld
from tests.simulation.convergence import InvariantBrokenError, nothing_failed_unseen, settle
from tests.simulation.directing import family_of

SETTLED_BY: Final = FAULTS_CEASE + 900.0
FAMILIES: Final[tuple[type[Directed], ...]] = (EvenControlPlane, FailTogether, Storm, NotPermitted)
"""Families of directed seeds, used in turn."""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one seed."""

    seed: int
    broken: str
    begun: int
    withdrawn: int
    replaced: int
    recovered: int
    faults: Counter[str]
    digest: str
    requests: RequestDigests | None
    lines: tuple[str, ...] = ()


Judges = Callable[[ChecksWorld, int], Invariants]
"""Creates the invariants of a world with this limit of concurrent remediations."""


def play(seed: int, *, keep_trace: bool = False, beside: Beside[Judges, ChecksWorld] | None = None) -> Run:
    """Run a seed to its end and check the invariants. Beside another campaign no seed is directed."""
    if beside is None and (family := family_of(seed, FAMILIES)):
        directed = family(seed, keep_trace=keep_trace)
        broken = directed.play_to_end()
        return _reported(seed, broken, directed.world, directed.invariants, directed.counts, replaced=0)
    beside = beside or Beside(Invariants)
    fault_rates = FaultRates.draw(Scheduler(seed).chance("weather"))
    world = ChecksWorld(
        seed, fault_rates.quality, fault_rates.policy, keep_trace=keep_trace, **beside.options
    )
    invariants = beside.evaluate(world, fault_rates.policy["maxConcurrent"])
    beside.join(world)
    fixer, owner = Fixer(world), Owner(world)
    fixer.poll()
    owner.poll()
    Switcher(world).poll()
    faults = Faults(world, fault_rates, invariants.note_policy)
    faults.plan()
    broken = ""
    try:
        world.run(FAULTS_CEASE)
        settle(world, invariants, by=SETTLED_BY, every=30.0, stays=60.0)
        beside.afterwards(lambda by: settle(world, invariants, by=by, every=30.0, stays=60.0))
        nothing_failed_unseen(world.replicas)
    except InvariantBrokenError as failure:
        broken = str(failure)
    finally:
        world.close()
    return _reported(seed, broken, world, invariants, faults.counts, replaced=owner.replaced)


def _reported(
    seed: int, broken: str, world: ChecksWorld, invariants: Invariants, faults: Counter[str], *, replaced: int
) -> Run:
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.begun,
        invariants.withdrawn,
        replaced,
        invariants.recovered,
        faults,
        trace.digest,
        world.scheduler.requests.digests,
        tuple(trace.lines),
    )
