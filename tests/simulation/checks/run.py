"""One seed, from its weather to its verdict."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nodemend.testing.request_log import RequestDigests
from nodemend.testing.scheduler import Scheduler
from tests.simulation.beside import Beside
from tests.simulation.checks.answerers import Fixer, Owner
from tests.simulation.checks.faults import FAULTS_CEASE, Faults, Weather
from tests.simulation.checks.invariants import Invariants
from tests.simulation.checks.recoveries import Switcher
from tests.simulation.checks.world import ChecksWorld
from tests.simulation.settling import InvariantBrokenError, nothing_failed_unseen, settle

SETTLED_BY: Final = FAULTS_CEASE + 900.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed showed."""

    seed: int
    broken: str
    begun: int
    withdrawn: int
    replaced: int
    recovered: int
    faults: Counter[str]
    digest: str
    requests: RequestDigests
    lines: tuple[str, ...] = ()


Judges = Callable[[ChecksWorld, int], Invariants]
"""Made for a world, and for how many remediations may be at work in it."""


def play(seed: int, *, keep_trace: bool = False, beside: Beside[Judges, ChecksWorld] | None = None) -> Run:
    """Play a seed to its end and judge it."""
    beside = beside or Beside(Invariants)
    weather = Weather.draw(Scheduler(seed).chance("weather"))
    world = ChecksWorld(seed, weather.quality, weather.policy, keep_trace=keep_trace, **beside.wishes)
    invariants = beside.judge(world, weather.policy["maxConcurrent"])
    beside.join(world)
    fixer, owner = Fixer(world), Owner(world)
    fixer.look()
    owner.look()
    Switcher(world).look()
    faults = Faults(world, weather, invariants.note_policy)
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
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.begun,
        invariants.withdrawn,
        owner.replaced,
        invariants.recovered,
        faults.counts,
        trace.digest,
        world.scheduler.requests.digests,
        tuple(trace.lines),
    )
