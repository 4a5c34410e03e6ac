"""Faults of a seed with mixed faults, and their times: drawn from the seed before the run starts."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Final

from nodemend.api.resources import LEASE, NODE, SELF_REMEDIATION
from simulation.api_server.storage import Snapshot
from simulation.cluster.replicas import Replica
from simulation.network import GOOD_LINK, LinkQuality, worse
from tests.simulation.self_fencing.network import API
from tests.simulation.self_fencing_nodes.api_store import at_once
from tests.simulation.self_fencing_nodes.cluster import Cluster

BEGIN: Final = 60.0
LASTS: Final = 260.0
"""Seconds in which faults start."""
LONG_ENOUGH: Final = 80.0
"""Seconds. A node that is cut off for this time after its marker can be released by time."""
BYZANTINE_SHARE: Final = 0.25
"""Share of seeds in which one node is Byzantine."""
_HOUR: Final = 3600.0
_BUMPED: Final = 1_000_000


def draw_quality(chance: Random) -> LinkQuality:
    """Draw the quality of the managers' links: some replies are lost, some writes are late."""
    losses = chance.choice((0.0, 0.0, 0.01, 0.05))
    return replace(worse(GOOD_LINK, losses), delay=(0.001, chance.choice((0.002, 0.02, 0.3))))


class Faults:
    def __init__(self, cluster: Cluster, chance: Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._backups: list[Snapshot] = []
        self.restored = False
        self.on_restored: Callable[[], None] = lambda: None

    def plan(self) -> None:
        """Schedule a few kinds of faults per seed, so that each occurs alone and with others."""
        chance, scheduler = self._chance, self._cluster.scheduler
        for replica in self._cluster.world.replicas:
            replica.clock.rate = chance.uniform(0.999, 1.001)
            # The host's wall clock is wrong by minutes from the start.
            replica.clock.wall_error = timedelta(seconds=chance.choice((0.0, -300.0, 300.0, 86_400.0)))
        for node in self._cluster.nodes.values():
            node.stubborn = chance.random() < 0.5
            node.slowest = chance.random() < 0.5
        if chance.random() < BYZANTINE_SHARE:
            chance.choice(list(self._cluster.nodes.values())).byzantine_peer = True
            self._cluster.counts["fault: a peer lies"] += 1
        kinds = (
            self._cut_links, self._isolate, self._split, self._api_down, self._lose_replies,
            self._pause_agent, self._pause_feeder, self._kill_agent, self._kill_feeder, self._stop_agent,
            self._crash, self._hold_back, self._lose_certificates, self._step_clocks,
            self._complain, self._complain, self._content, self._ambush, self._ambush, self._ambush,
            self._pause_leader, self._kill_leader, self._cut_leader, self._stale_caches, self._compact,
            self._restore,
        )  # fmt: skip
        chosen = chance.sample(kinds, chance.randint(2, 7))
        network = self._cluster.network
        network.loss = chance.choice((0.0, 0.0, 0.02, 0.2))
        network.slow = chance.choice((0.0, 0.0, 0.02))
        self._cluster.around.hiccups = chance.choice((0.0, 0.002, 0.02))
        for _ in range(chance.randint(3, 20)):
            fault = chance.choice(chosen)
            scheduler.at(BEGIN + chance.random() * LASTS, lambda fault=fault: self._begin(fault))  # type: ignore[misc]
        if self._restore in chosen:
            self._back_up()
        scheduler.at(BEGIN + LASTS, self.cease)

    def cease(self) -> None:
        """End all faults, except consequences of earlier ones."""
        cluster = self._cluster
        network, around = cluster.network, cluster.around
        network.cut = set()  # A new set, because faults that end later remove their links from the old one.
        network.loss = network.slow = around.hiccups = 0.0
        cluster.store.down, cluster.store.answering = False, at_once
        around.uncertified.clear()
        around.held_back.clear()
        cluster.invariants.on_marked = lambda _name: None
        self._fresh_caches()
        for name, node in cluster.nodes.items():
            node.wall_error = 0.0
            cluster.content(name)
        for replica in cluster.world.replicas:
            replica.quality = replica.link.quality = GOOD_LINK
            replica.link.heal()

    def _begin(self, fault: Callable[[], None]) -> None:
        name = getattr(fault, "__name__", "").strip("_").replace("_", " ")
        self._cluster.counts[f"fault: {name}"] += 1
        self._cluster.tell(f"fault: {name}")
        fault()

    def _some_node(self) -> str:
        return self._chance.choice(list(self._cluster.nodes))

    def _some_remediator(self) -> Replica:
        return self._chance.choice(self._cluster.remediators)

    def _later(self, longest: float, what: Callable[[], None]) -> None:
        self._cluster.scheduler.after(self._chance.uniform(2.0, longest), what)

    # Links.

    def _for_a_while(
        self, links: set[tuple[str, str]], longest: float = 120.0, shortest: float = 2.0
    ) -> None:
        cut = self._cluster.network.cut
        cut |= links
        wait = self._chance.uniform(shortest, longest)
        self._cluster.scheduler.after(wait, lambda: cut.difference_update(links))

    def _cut_links(self) -> None:
        parties = self._cluster.parties
        pairs = [(one, other) for one in parties for other in parties if one != other]
        self._for_a_while(set(self._chance.sample(pairs, self._chance.randint(1, 12))))

    def _isolate(self) -> None:
        name = self._some_node()
        links = self._cluster.network.links_of(name, self._cluster.parties)
        out = {link for link in links if link[0] == name}
        ways = (links, links, out, links - out, {(name, API)}, {(API, name)})
        self._for_a_while(self._chance.choice(ways), longest=200.0)

    def _split(self) -> None:
        nodes = list(self._cluster.nodes)
        there = set(self._chance.sample(nodes, self._chance.randint(1, 4)))
        here = set(self._cluster.parties) - there
        apart = {(one, other) for one in there for other in here}
        self._for_a_while(apart | {(other, one) for one, other in apart})

    def _api_down(self) -> None:
        """Make the API server unreachable for all nodes, but not for managers and Kubernetes' controllers."""
        store = self._cluster.store
        store.down = True
        self._later(90.0, lambda: setattr(store, "down", False))

    def _lose_replies(self) -> None:
        """Execute requests of some nodes, but lose or delay the replies."""
        nodes = set(self._chance.sample(list(self._cluster.nodes), self._chance.randint(1, 4)))
        late = self._chance.choice((None, None, 2.5, 8.0))
        store = self._cluster.store
        store.answering = lambda who, _asked, _well: late if who in nodes else 0.0
        self._later(60.0, lambda: setattr(store, "answering", at_once))

    # Nodes.

    def _pause_agent(self) -> None:
        self._cluster.nodes[self._some_node()].agent.freeze(self._chance.choice((2.0, 10.0, 50.0)))

    def _pause_feeder(self) -> None:
        self._cluster.nodes[self._some_node()].feeder.freeze(self._chance.choice((2.0, 6.0, 9.5, 30.0)))

    def _kill_agent(self) -> None:
        away = self._chance.choice((15.0, 15.0, 120.0))
        self._cluster.nodes[self._some_node()].restart_agent(self._chance.uniform(0.1, away))

    def _stop_agent(self) -> None:
        """Stop an agent, for an upgrade or for long. It may leave a permit to run unattended."""
        self._cluster.nodes[self._some_node()].stop_agent(self._chance.choice((0.0, 5.0, 60.0, 150.0)))

    def _kill_feeder(self) -> None:
        self._cluster.nodes[self._some_node()].restart_feeder(self._chance.uniform(0.1, 15.0))

    def _crash(self) -> None:
        self._cluster.nodes[self._some_node()].reset("it crashes")

    def _hold_back(self) -> None:
        """Reset a node, whose gate then waits for an operator, also at further boots."""
        name, held = self._some_node(), self._cluster.around.held_back
        held.add(name)
        self._cluster.nodes[name].reset("it crashes once too often")
        self._later(150.0, lambda: held.discard(name))

    def _lose_certificates(self) -> None:
        around = self._cluster.around
        lost = set(self._chance.sample(list(self._cluster.nodes), self._chance.choice((1, 2, 5))))
        around.uncertified |= lost
        self._later(120.0, lambda: around.uncertified.difference_update(lost))

    def _step_clocks(self) -> None:
        """Step wall clocks of nodes and of a manager, by minutes or past the end of certificates."""
        wrong_by = self._chance.choice((600.0, 8 * _HOUR, 22 * _HOUR, 40 * _HOUR))
        nodes = list(self._cluster.nodes.values())
        for node in self._chance.sample(nodes, self._chance.choice((1, 2, len(nodes)))):
            node.wall_error = self._chance.choice((-1.0, 1.0)) * wrong_by
        replica = self._chance.choice(self._cluster.world.replicas)
        replica.clock.wall_error = timedelta(seconds=self._chance.choice((-1.0, 1.0)) * wrong_by)

    def _complain(self) -> None:
        """Declare a node unhealthy that may be connected."""
        self._cluster.complain(self._some_node())

    def _content(self) -> None:
        """Declare all nodes healthy again, in any phase of their remediations."""
        for name in self._cluster.nodes:
            self._cluster.content(name)

    def _ambush(self) -> None:
        """Isolate a node at the moment in which it is marked; it lives as long as permitted."""
        cluster, name = self._cluster, self._some_node()

        def marked(node: str) -> None:
            if node == name:
                cluster.nodes[name].lives_longest = True
                links = cluster.network.links_of(name, cluster.parties)
                self._for_a_while(links, longest=200.0, shortest=LONG_ENOUGH)

        cluster.invariants.on_marked = marked
        cluster.complain(name)

    # Managers and their reads.

    def _pause_leader(self) -> None:
        self._some_remediator().process.pause(self._chance.choice((1.0, 8.0, 14.0, 20.0, 60.0)))

    def _kill_leader(self) -> None:
        self._some_remediator().process.crash()

    def _cut_leader(self) -> None:
        link = self._some_remediator().link
        link.cut(up=self._chance.random() < 0.7, down=self._chance.random() < 0.7)
        self._later(60.0, link.heal)

    def _stale_caches(self) -> None:
        """Freeze the API server's cache: watches, and reads with a version, show the past."""
        server = self._cluster.world.server
        for resource in (NODE, LEASE, SELF_REMEDIATION):
            if self._chance.random() < 0.6:
                server.lag(resource, server.revision)
        self._later(60.0, self._fresh_caches)

    def _fresh_caches(self) -> None:
        for resource in (NODE, LEASE, SELF_REMEDIATION):
            self._cluster.world.server.lag(resource, None)

    def _compact(self) -> None:
        self._cluster.world.server.compact()
        self._cluster.world.server.break_watches()

    def _back_up(self) -> None:
        self._backups.append(self._cluster.world.server.snapshot())
        self._cluster.scheduler.after(self._chance.uniform(5.0, 40.0), self._back_up)

    def _restore(self) -> None:
        backup = self._chance.choice(self._backups[-6:])
        self._fresh_caches()
        bump = self._chance.choice((0, _BUMPED))
        self._cluster.world.server.restore(backup, bump=bump)
        if bump == 0:
            # If revisions are used again, a watch may receive nothing for long: an admin restarts all
            # replicas.
            for replica in self._cluster.world.replicas:
                self._later(60.0, replica.process.crash)
        self.restored = True
        self.on_restored()
