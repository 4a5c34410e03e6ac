"""One seed, from its weather to its verdict."""

from collections import Counter
from dataclasses import dataclass

from nodemend.testing.cluster.world import Shape, World
from nodemend.testing.scheduler import Scheduler
from tests.simulation.walking_path.faults import FAULTS_CEASE, Faults, Weather
from tests.simulation.walking_path.invariants import InvariantBrokenError, Invariants

SETTLED_BY = FAULTS_CEASE + 1500.0
LOOK_EVERY = 150.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed showed."""

    seed: int
    broken: str
    releases: int
    followed: int
    """Remediations that began on a person's order."""
    faults: Counter[str]
    digest: str
    steps: int
    simulated: float
    lines: tuple[str, ...] = ()


def play(seed: int, *, keep_trace: bool = False, until: float | None = None) -> Run:
    """Play a seed to its end and judge it, or, with `until`, only so many simulated seconds of it."""
    weather = Weather.draw(Scheduler(seed).chance("weather"))
    invariants = Invariants()
    shape = Shape(machines=4, quality=weather.quality, policy=weather.policy)
    world = World(seed, shape, invariants.started, keep_trace=keep_trace)
    invariants.watch(world)
    faults = Faults(world, weather, invariants.note_policy)
    faults.plan()
    broken = ""
    try:
        world.run(FAULTS_CEASE if until is None else until)
        if until is None:
            _settle(world, invariants)
        nothing_failed_unseen(world)
    except InvariantBrokenError as failure:
        broken = str(failure)
    finally:
        world.close()
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.releases,
        invariants.followed,
        faults.counts,
        trace.digest,
        world.scheduler.steps,
        world.scheduler.now,
        tuple(trace.lines),
    )


def _settle(world: World, invariants: Invariants) -> None:
    """Wait until all is well, and then as long again: well must also stay well."""
    while world.scheduler.now < SETTLED_BY:
        world.run(world.scheduler.now + LOOK_EVERY)
        try:
            invariants.settled()
        except InvariantBrokenError:
            continue
        break
    world.run(world.scheduler.now + LOOK_EVERY)
    invariants.settled()


def nothing_failed_unseen(world: World) -> None:
    for replica in world.replicas:
        if failures := replica.process.unjoined_failures:
            raise InvariantBrokenError(f"a task died unseen: {failures}")
