"""One seed, from its weather to its verdict."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from nodemend.testing.scheduler import Scheduler
from tests.simulation.checks.answerers import Fixer, Owner
from tests.simulation.checks.faults import FAULTS_CEASE, Faults, Weather
from tests.simulation.checks.invariants import InvariantBrokenError, Invariants
from tests.simulation.checks.recoveries import Switcher
from tests.simulation.checks.world import ChecksWorld

SETTLED_BY: Final = FAULTS_CEASE + 900.0
LOOK_EVERY: Final = 30.0
STAYS_WELL: Final = 60.0


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
    lines: tuple[str, ...] = ()


def play(seed: int, *, keep_trace: bool = False) -> Run:
    """Play a seed to its end and judge it."""
    weather = Weather.draw(Scheduler(seed).chance("weather"))
    world = ChecksWorld(seed, weather.quality, weather.policy, keep_trace=keep_trace)
    invariants = Invariants(world, weather.policy["maxConcurrent"])
    fixer, owner = Fixer(world), Owner(world)
    fixer.look()
    owner.look()
    Switcher(world).look()
    faults = Faults(world, weather, invariants.note_policy)
    faults.plan()
    broken = ""
    try:
        world.run(FAULTS_CEASE)
        _settle(world, invariants)
        for replica in world.replicas:
            _nothing_failed_unseen(replica.process.unjoined_failures)
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
        tuple(trace.lines),
    )


def _settle(world: ChecksWorld, invariants: Invariants) -> None:
    """Wait until all is well, and then a while longer: well must also stay well."""
    while world.scheduler.now < SETTLED_BY:
        world.run(world.scheduler.now + LOOK_EVERY)
        try:
            invariants.settled()
        except InvariantBrokenError:
            continue
        break
    world.run(world.scheduler.now + STAYS_WELL)
    invariants.settled()


def _nothing_failed_unseen(failures: list[tuple[str, BaseException]]) -> None:
    if failures:
        raise InvariantBrokenError(f"a task died unseen: {failures}")
