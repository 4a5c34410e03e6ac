"""What goes wrong, and when: drawn from the seed before anything happens."""

from collections.abc import Callable
from random import Random

from tests.simulation.fencing.managers import Manager, Statuses
from tests.simulation.fencing.network import API
from tests.simulation.fencing.surroundings import Surroundings

LASTS = 200.0
"""Seconds in which faults begin."""
_HOUR = 3600.0
AWAY_AT_MOST = 200.0
"""Seconds until a stopped agent is back."""


class Faults:
    def __init__(
        self, world: Surroundings, managers: list[Manager], statuses: Statuses, chance: Random
    ) -> None:
        self._world = world
        self._managers = managers
        self._statuses = statuses
        self._chance = chance

    def plan(self) -> None:
        """A few kinds a seed, so that each is met alone and with others."""
        kinds = [
            self._cut_links,
            self._isolate,
            self._split,
            self._api_down,
            self._pause_agent,
            self._pause_feeder,
            self._pause_manager,
            self._kill_agent,
            self._kill_feeder,
            self._stop_agent,
            self._strand,
            self._strand,
            self._crash,
            self._want,
            self._unwant,
            self._ambush,
            self._ambush,
            self._leave_out,
            self._change_leaders,
            self._lose_certificates,
            self._step_clocks,
            self._hold_back,
        ]
        chance = self._chance
        chosen = chance.sample(kinds, chance.randint(1, 6))
        world = self._world
        world.network.loss = chance.choice([0.0, 0.0, 0.02, 0.2])
        world.network.slow = chance.choice([0.0, 0.0, 0.02])
        world.hiccups = chance.choice([0.0, 0.002, 0.02])
        for _ in range(chance.randint(3, 24)):
            fault = chance.choice(chosen)
            world.line.at(10.0 + chance.random() * LASTS, lambda fault=fault: self._begin(fault))  # type: ignore[misc]
        world.line.at(10.0 + LASTS, self.cease)

    def cease(self) -> None:
        world = self._world
        world.network.cut = set()  # Another: whatever ends later mends the links that were cut before.
        world.network.loss = world.network.slow = world.hiccups = 0.0
        world.store.down = False
        world.left_out.clear()
        world.uncertified.clear()
        world.held_back.clear()
        world.ambushed.clear()
        for node in world.nodes.values():
            node.wall_error = 0.0
        world.quiet_since = world.line.now
        self._managers[0].leads, self._managers[1].leads = True, False

    def _begin(self, fault: Callable[[], None]) -> None:
        name = getattr(fault, "__name__", "").strip("_")
        self._world.counts[f"fault: {name}"] += 1
        self._world.tell(f"({name})")
        fault()

    def _some_node(self) -> str:
        return self._chance.choice(list(self._world.nodes))

    def _for_a_while(self, links: set[tuple[str, str]], longest: float = 120.0) -> None:
        cut = self._world.network.cut
        cut |= links
        self._world.line.after(self._chance.uniform(2.0, longest), lambda: cut.difference_update(links))

    def _parties(self) -> list[str]:
        return [API, *self._world.nodes]

    def _cut_links(self) -> None:
        pairs = [(one, other) for one in self._parties() for other in self._parties() if one != other]
        self._for_a_while(set(self._chance.sample(pairs, self._chance.randint(1, 12))))

    def _isolate(self) -> None:
        node = self._some_node()
        others = [one for one in self._parties() if one != node]
        into, out = {(one, node) for one in others}, {(node, one) for one in others}
        self._for_a_while(self._chance.choice([into, out, into | out, {(node, API)}, {(API, node)}]))

    def _split(self) -> None:
        nodes = list(self._world.nodes)
        self._chance.shuffle(nodes)
        there = set(nodes[: self._chance.randint(1, 4)])
        here = set(self._parties()) - there
        links = {(one, other) for one in there for other in here} | {
            (other, one) for one in there for other in here
        }
        self._for_a_while(links)

    def _api_down(self) -> None:
        store = self._world.store
        store.down = True

        def up() -> None:
            store.down = False

        self._world.line.after(self._chance.uniform(2.0, 100.0), up)

    def _pause(self) -> float:
        return self._chance.choice([0.5, 3.0, 9.0, 12.0, 30.0, 90.0]) * self._chance.uniform(0.5, 1.0)

    def _pause_agent(self) -> None:
        self._world.nodes[self._some_node()].agent.freeze(self._pause())

    def _pause_feeder(self) -> None:
        self._world.nodes[self._some_node()].feeder.freeze(self._pause())

    def _pause_manager(self) -> None:
        self._chance.choice(self._managers).freeze(self._pause())

    def _change_leaders(self) -> None:
        """For a while there may be two, or none."""
        for manager in self._managers:
            manager.leads = self._chance.random() < 0.6

    def _kill_agent(self) -> None:
        """It is back at once, or crashes again and again: for longer than its lease lasts."""
        away = self._chance.choice([15.0, 15.0, 120.0])
        self._world.nodes[self._some_node()].restart_agent(self._chance.uniform(0.1, away))

    def _stop_agent(self) -> None:
        """An upgrade, or an end for good: it may be gone for longer than its lease lasts."""
        away = self._chance.choice([0.0, 5.0, 60.0, 180.0])
        self._world.nodes[self._some_node()].stop_agent(away)

    def _strand(self) -> None:
        """Its agent is stopped and may be long in coming back; around that nobody hears the node any more."""
        name, world, chance = self._some_node(), self._world, self._chance
        away = chance.choice([0.0, 5.0, AWAY_AT_MOST]) * chance.random()
        world.line.after(5.0, lambda: world.nodes[name].stop_agent(away))
        links = world.network.links_of(name, self._parties())

        def cut() -> None:
            if world.line.now < world.quiet_since:
                self._for_a_while(links, longest=300.0)

        world.line.after(chance.choice([5.0, 10.0, 40.0]) * chance.random(), cut)

    def _kill_feeder(self) -> None:
        self._world.nodes[self._some_node()].restart_feeder(self._chance.uniform(0.1, 15.0))

    def _crash(self) -> None:
        self._world.nodes[self._some_node()].reset("it crashes")

    def _want(self) -> None:
        """A check has found it sick, though it may be in touch."""
        node = self._some_node()
        kept = self._statuses.of[node]
        if not kept.wanted:
            self._managers[0].want(node, kept)

    def _ambush(self) -> None:
        """The worst moment: its last look was clean, and nobody tells it any more."""
        node = self._some_node()
        self._world.ambushed.add(node)
        self._world.nodes[node].stubborn = True
        kept = self._statuses.of[node]
        if not kept.wanted:
            self._managers[0].want(node, kept)

    def _unwant(self) -> None:
        """Whoever asked for it needs it no longer, at any phase."""
        node = self._some_node()
        kept = self._statuses.of[node]
        if kept.wanted:
            self._managers[0].unwant(node, kept)

    def _leave_out(self) -> None:
        node = self._some_node()
        left_out = self._world.left_out
        left_out.add(node)
        self._world.line.after(self._chance.uniform(5.0, 60.0), lambda: left_out.discard(node))

    def _lose_certificates(self) -> None:
        """At once, of some or of all: a bundle without their authority does that."""
        world = self._world
        lost = set(self._chance.sample(list(world.nodes), self._chance.choice([1, 2, 5])))
        world.uncertified |= lost
        world.line.after(self._chance.uniform(5.0, 120.0), lambda: world.uncertified.difference_update(lost))

    def _step_clocks(self) -> None:
        """Wall clocks jump, of one node or of all, by minutes or past the ends of certificates."""
        wrong_by = self._chance.choice([600.0, 8 * _HOUR, 13 * _HOUR, 22 * _HOUR, 40 * _HOUR])
        nodes = self._chance.sample(list(self._world.nodes.values()), self._chance.choice([1, 1, 2, 5]))
        for node in nodes:
            node.wall_error = self._chance.choice([-1.0, 1.0]) * wrong_by * self._chance.uniform(0.8, 1.2)

    def _hold_back(self) -> None:
        """Its next boots have seen too many resets, until somebody looks; one comes at once."""
        world, node = self._world, self._some_node()
        world.held_back.add(node)
        world.nodes[node].reset("it crashes once too often")
        world.line.after(self._chance.uniform(20.0, 150.0), lambda: world.held_back.discard(node))
