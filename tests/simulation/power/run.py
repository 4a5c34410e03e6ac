"""One seed of power cycles, from its weather to its verdict."""

from collections import Counter
from dataclasses import dataclass, replace

from nodemend.testing.cluster.world import World
from nodemend.testing.scheduler import Scheduler
from tests.simulation.power.faults import HostFaults
from tests.simulation.power.invariants import PowerInvariants
from tests.simulation.power.world import furnish, shaped
from tests.simulation.settling import InvariantBrokenError, nothing_failed_unseen, settle
from tests.simulation.walking_path.faults import FAULTS_CEASE, Faults, Weather

SETTLED_BY = FAULTS_CEASE + 6000.0
"""After errors an operator of hosts waits for up to half an hour by itself, and so do we."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed showed."""

    seed: int
    broken: str
    releases: int
    holds: int
    faults: Counter[str]
    digest: str
    lines: tuple[str, ...] = ()


def play(seed: int, *, keep_trace: bool = False) -> Run:
    chance = Scheduler(seed).chance("weather")
    # A power cycle takes some 25 writes: with a crash at every third it would never come to its end.
    weather = replace(Weather.draw(chance), crash_every=chance.choice((0, 8, 20, 40)))
    invariants = PowerInvariants()
    world = World(
        seed,
        shaped(machines=4, workloads=4, quality=weather.quality, policy=weather.policy),
        invariants.started,
        keep_trace=keep_trace,
    )
    crossed = Scheduler(seed).chance("cables").random() < 0.15
    rack = furnish(world, crossed=crossed)
    invariants.watch(world)
    faults, host_faults = Faults(world, weather, invariants.note_policy), HostFaults(world, rack)
    faults.plan()
    host_faults.plan()
    broken = ""
    try:
        world.run(FAULTS_CEASE)
        settle(world, invariants, by=SETTLED_BY)
        nothing_failed_unseen(world.replicas)
    except InvariantBrokenError as failure:
        broken = str(failure)
    finally:
        rack.close()
        world.close()
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.releases,
        invariants.holds,
        faults.counts + host_faults.counts,
        trace.digest,
        tuple(trace.lines),
    )
