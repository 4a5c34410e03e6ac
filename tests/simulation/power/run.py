"""One seed of power cycles: every fourth one is directed at one danger, the rest have mixed faults."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from nodemend.api.resources import NODE
from simulation.cluster.world import World
from simulation.metal3.rack import BY_DELETION, SPEC, Rack, furnish, shaped
from simulation.request_log import RequestDigests
from simulation.scheduler import Scheduler
from tests.simulation.beside import Beside
from tests.simulation.convergence import InvariantBrokenError, nothing_failed_unseen, settle
from tests.simulation.directing import family_of
from tests.simulation.power.crowds import Interval, NotAllowed, Quorum, TooMany
from tests.simulation.power.directed import Directed
from tests.simulation.power.ends import DeletedNode, Ends, ForcedUnderTaint, PodsLeave, Waits
from tests.simulation.power.faults import HostFaults
from tests.simulation.power.invariants import PowerInvariants
from tests.simulation.power.late_writes import Forbidden, LatePowerOff, LateRelease, Reboots
from tests.simulation.power.members import ROLE
from tests.simulation.power.restored import Restored
from tests.simulation.power.wrong_machines import (
    EqualNames,
    NewBoard,
    OldTruth,
    SpeaksAgain,
    SpeaksOn,
    WrongMachine,
)
from tests.simulation.walking_path.faults import FAULTS_CEASE, FaultRates, Faults

SETTLED_BY = FAULTS_CEASE + 6000.0
"""After errors the host operator waits for up to half an hour, so the run waits as well."""
CONTROL_PLANE = ("node-1", "node-2", "node-3")
CONTROL_PLANE_SHARE = 0.25
"""Share of seeds in which these nodes are the control plane."""
HANDS_SHARE = 0.7
"""Share of seeds in which people switch machines; in the others Kubernetes observes Nodes late."""
DELETING_SHARE = 0.25
"""Share of seeds in which workloads are released by deleting the Node."""
FAMILIES: Final[tuple[type[Directed], ...]] = (
    WrongMachine,
    OldTruth,
    Ends,
    LatePowerOff,
    Interval,
    PodsLeave,
    EqualNames,
    Forbidden,
    ForcedUnderTaint,
    TooMany,
    LateRelease,
    DeletedNode,
    SpeaksOn,
    NotAllowed,
    Reboots,
    Quorum,
    Waits,
    Restored,
    SpeaksAgain,
    NewBoard,
)
"""Families of directed seeds, used in turn."""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one seed."""

    seed: int
    broken: str
    releases: int
    holds: int
    faults: Counter[str]
    digest: str
    requests: RequestDigests | None
    lines: tuple[str, ...] = ()


Joined = Beside[PowerInvariants, tuple[World, Rack]]


def play(seed: int, *, keep_trace: bool = False, beside: Joined | None = None) -> Run:
    if beside is None and (family := family_of(seed, FAMILIES)):
        directed = family(seed, keep_trace=keep_trace)
        broken = directed.play_to_end()
        return _reported(seed, broken, directed.world, directed.invariants, directed.counts)
    return _play_mixed(seed, keep_trace, beside or Beside(PowerInvariants()))


def _play_mixed(seed: int, keep_trace: bool, beside: Joined) -> Run:
    chance = Scheduler(seed).chance("weather")
    # A power cycle takes about 25 writes: with a crash at every third one it would never complete.
    fault_rates = replace(FaultRates.draw(chance), crash_every=chance.choice((0, 8, 20, 40)))
    invariants = beside.evaluate
    deletes = Scheduler(seed).chance("release").random() < DELETING_SHARE
    world = World(
        seed,
        shaped(
            machines=4,
            workloads=4,
            quality=fault_rates.quality,
            policy=fault_rates.policy,
            node_deletion=deletes,
            **beside.options,
        ),
        invariants.started,
        keep_trace=keep_trace,
    )
    draw = Scheduler(seed).chance("kind of world")
    rack = furnish(world, BY_DELETION if deletes else SPEC, crossed=draw.random() < 0.15)
    if draw.random() < CONTROL_PLANE_SHARE:
        for name in CONTROL_PLANE:
            world.admin_api.patch(NODE, name, {"metadata": {"labels": {ROLE: ""}}})
    hands = draw.random() < HANDS_SHARE
    invariants.watch(world)
    beside.join((world, rack))
    faults = Faults(world, fault_rates, invariants.note_policy, hands=hands)
    host_faults = HostFaults(world, rack, hands=hands)
    faults.plan()
    host_faults.plan()
    broken = ""
    try:
        world.run(FAULTS_CEASE)
        settle(world, invariants, by=SETTLED_BY)
        beside.afterwards(lambda by: settle(world, invariants, by=by))
        nothing_failed_unseen(world.replicas)
    except InvariantBrokenError as failure:
        broken = str(failure)
    finally:
        rack.close()
        world.close()
    return _reported(seed, broken, world, invariants, faults.counts + host_faults.counts)


def _reported(seed: int, broken: str, world: World, invariants: PowerInvariants, counts: Counter[str]) -> Run:
    trace = world.scheduler.trace
    return Run(
        seed,
        broken,
        invariants.releases,
        invariants.holds,
        counts,
        trace.digest,
        world.scheduler.requests.digests,
        tuple(trace.lines),
    )
