"""One seed, from its weather to its verdict."""

from collections import Counter
from dataclasses import dataclass

from nodemend.testing.cluster.world import Shape, World
from nodemend.testing.request_log import RequestDigests
from nodemend.testing.scheduler import Scheduler
from tests.simulation.beside import Beside
from tests.simulation.settling import InvariantBrokenError, nothing_failed_unseen, settle
from tests.simulation.walking_path.faults import FAULTS_CEASE, Faults, Weather
from tests.simulation.walking_path.invariants import Invariants

SETTLED_BY = FAULTS_CEASE + 1500.0


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
    requests: RequestDigests
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
    """Play a seed to its end and judge it, or, with `until`, only so many simulated seconds of it."""
    beside = beside or Beside(Invariants())
    weather = Weather.draw(Scheduler(seed).chance("weather"))
    invariants = beside.judge
    shape = Shape(machines=4, quality=weather.quality, policy=weather.policy, **beside.wishes)
    world = World(seed, shape, invariants.started, keep_trace=keep_trace)
    invariants.watch(world)
    beside.join(world)
    faults = Faults(world, weather, invariants.note_policy)
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
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.releases,
        invariants.followed,
        faults.counts,
        trace.digest,
        world.scheduler.requests.digests,
        world.scheduler.steps,
        world.scheduler.now,
        tuple(trace.lines),
    )
