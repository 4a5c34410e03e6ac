"""One seed: five nodes, two managers, faults, and then quiet in which all must come right."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Final

from tests.simulation.fencing.faults import AWAY_AT_MOST, LASTS, Faults
from tests.simulation.fencing.lease_store import LeaseStore
from tests.simulation.fencing.managers import Kept, Manager, Statuses
from tests.simulation.fencing.network import API, Network
from tests.simulation.fencing.node import Node
from tests.simulation.fencing.surroundings import BrokenError, Surroundings
from tests.simulation.fencing.time_line import Process, TimeLine

NODES = ("a", "b", "c", "d", "e")
CEASED: Final = 10.0 + LASTS
"""From then on nothing goes wrong any more."""
SETTLES_WITHIN: Final = 20.0 + AWAY_AT_MOST + 260.0
"""By then all must be well: an agent that is stopped last is back, its node has ended, booted at leisure, and
has another agent, which may take 50 s."""
LOOKS_EVERY: Final = 5.0
STAYS_WELL: Final = 60.0
"""Whoever was no longer fed would have been reset by then, and who was silent be under remediation."""
ONE_MORE_SHARE: Final = 0.25
"""Of seeds in which, when all is well again, a node is lost and nothing else goes wrong."""
RELEASED_WITHIN: Final = 150.0
"""Of its loss: that it is silent must be noticed first, and then it has its safe time."""


@dataclass(frozen=True, slots=True)
class Run:
    seed: int
    broken: str
    counts: Counter[str]
    lines: list[str] = field(default_factory=list)


def play(seed: int, *, keep_trace: bool = False) -> Run:
    chance = Random(seed)
    world, managers, statuses = set_up(chance)
    world.lines = [] if keep_trace else None
    Faults(world, managers, statuses, chance).plan()
    broken = ""
    try:
        world.line.run(CEASED)
        steady = settle(world, managers, statuses)
        if chance.random() < ONE_MORE_SHARE and steady:
            lose_one_more(world, chance.choice(NODES))
            settle(world, managers, statuses)
    except BrokenError as error:
        broken = str(error)
        world.tell(broken)
    return Run(seed, broken, world.counts, world.lines or [])


def set_up(chance: Random) -> tuple[Surroundings, list[Manager], Statuses]:
    """Everybody, before anything has happened."""
    line = TimeLine()
    network = Network(line, chance)
    world = Surroundings(line, network, LeaseStore(network), chance)
    world.liars = chance.choice([0, 0, 0, 1])
    liar = chance.choice(NODES) if world.liars else ""
    for name in NODES:
        world.bound.add(name)
        world.nodes[name] = Node(name, world, chance, name == liar)
    statuses = Statuses(world, {name: Kept() for name in NODES})
    managers = [Manager(f"manager-{number}", world, statuses) for number in range(2)]
    managers[1].leads = False
    return world, managers, statuses


def settle(world: Surroundings, managers: list[Manager], statuses: Statuses) -> bool:
    """Play on until all has been well for a while, with everybody at work: nobody has anything left to do.

    Where that does not come in time (it is False then), it must at least be well in the end.
    """
    line, well_since = world.line, inf
    settled = line.now + SETTLES_WITHIN
    while line.now < settled and line.now - well_since < STAYS_WELL:
        line.run(min(line.now + LOOKS_EVERY, settled))
        well = _all_at_work(world, managers) and not _unsettled(world, statuses)
        well_since = min(well_since, line.now) if well else inf
    check_settled(world, statuses)
    return line.now - well_since >= STAYS_WELL


def lose_one_more(world: Surroundings, name: str) -> None:
    """I13: one that nobody hears any more is released in time. I9: nobody else ends."""
    others = {node: one.boot_id for node, one in world.nodes.items() if node != name}
    links = world.network.links_of(name, [API, *NODES])
    world.counts["one more lost"] += 1
    world.network.cut |= links
    world.line.run(world.line.now + RELEASED_WITHIN)
    if world.is_bound(name):
        raise BrokenError(f"I13: {name} was not released within {RELEASED_WITHIN:.0f} s of its loss")
    if ended := [node for node, boot in others.items() if world.nodes[node].boot_id != boot]:
        raise BrokenError(f"I9: {', '.join(ended)} ended when {name} was lost")
    world.network.cut -= links


def _all_at_work(world: Surroundings, managers: list[Manager]) -> bool:
    """Nobody is still to be restarted, and nobody is paused, who may wake with a plan from before."""
    parts: list[Process] = [*managers, *(part for node in world.nodes.values() for part in node.processes)]
    return all(part.alive and part.frozen_until <= world.line.now for part in parts)


def check_settled(world: Surroundings, statuses: Statuses) -> None:
    """I14: nothing of ours is left, and every node serves again."""
    if why := _unsettled(world, statuses):
        raise BrokenError(f"I14: {why}")


def _unsettled(world: Surroundings, statuses: Statuses) -> str:
    """What is not well yet; nothing if all is."""
    for name, node in world.nodes.items():
        lease = world.store.read(name)
        if lease is None or lease.marker is not None:
            return f"{name} still has a marker, or no Lease"
        if statuses.of[name].wanted:
            return f"the remediation of {name} never ended: {statuses.of[name]}"
        if not node.gate_open:
            return f"{name} is not back: {'up' if node.up else 'down'}"
    return ""
