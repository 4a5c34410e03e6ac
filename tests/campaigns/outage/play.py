"""One seed of each kind of outage, and the number of resets without an external restart."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.campaigns.outage.world import Cluster

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
AFTERWARDS: Final = HOUR
"""Played after each outage: agents get new certificates, and the API server may fail again."""
AGENTS_AWAY: Final = 120.0


@dataclass(frozen=True, slots=True)
class Played:
    seed: int
    kind: str
    hours: float
    resets: int
    restarts: int
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of outage. `act` plays it on a healthy cluster."""

    name: str
    nodes: tuple[int, ...]
    seeds: int
    ci: int
    """The number of seeds of a sample."""
    act: Callable[[Cluster], None]


def play(kind: Kind, seed: int, *, keep_trace: bool = False) -> Played:
    cluster = Cluster(f"{kind.name} {seed}", kind.nodes[seed % len(kind.nodes)])
    world = cluster.world
    world.lines = [] if keep_trace else None
    if not all(node.gate_open and node.agent.alive for node in world.nodes.values()):
        raise AssertionError(f"{kind.name} {seed}: not every node has begun")
    before, began = cluster.resets, cluster.line.now
    kind.act(cluster)
    hours = (cluster.line.now - began) / HOUR
    restarts = world.counts["restarted"] + world.counts["agents restarted"]
    resets = cluster.resets - before
    return Played(seed, kind.name, hours, resets, restarts, list(world.lines or ()))


def _outage(seconds: float) -> Callable[[Cluster], None]:
    def act(cluster: Cluster) -> None:
        """Unreachable, with short recoveries; then healthy; and then unreachable once more."""
        chance = cluster.chance
        _restart_agents(cluster, seconds)
        _restart_nodes(cluster, seconds)
        _step_clocks(cluster, seconds)
        ends = cluster.line.now + seconds
        cluster.store.down = True
        while cluster.line.now < ends:
            cluster.run(min(chance.uniform(0.1, 0.6) * seconds, ends - cluster.line.now))
            if chance.random() < 0.5:
                cluster.store.down = False
                cluster.run(chance.choice([1.0, 6.0, 12.0, 40.0]))
                cluster.store.down = True
        cluster.store.down = False
        cluster.run(chance.choice([4.0, 8.0, 30.0, 200.0]))
        cluster.store.down = True
        cluster.run(chance.uniform(60.0, 600.0))
        cluster.store.down = False
        cluster.run(AFTERWARDS)

    return act


def _brown_out(share: float) -> Callable[[Cluster], None]:
    def act(cluster: Cluster) -> None:
        _restart_agents(cluster, HOUR, apart=900.0)
        cluster.store.failing = share
        cluster.run(HOUR)
        cluster.store.failing = 0.0
        cluster.run(120.0)

    return act


def uplink_away(cluster: Cluster, seconds: float) -> None:
    """Cut one of several sites: none of its nodes has a majority of its peers inside."""
    links = cluster.cut_site("site-0")
    cluster.run(seconds)
    cluster.world.network.cut -= links
    cluster.run(300.0)


def _agents_killed(cluster: Cluster) -> None:
    """Kill all at once, for two minutes, as in an out-of-memory event, a crash loop or a bad release."""
    for node in cluster.nodes.values():
        node.restart_agent(AGENTS_AWAY)
    cluster.run(AGENTS_AWAY + 300.0)


def _restart_agents(cluster: Cluster, seconds: float, apart: float = 0.0) -> None:
    """Restart one after another, never two at once: kubelet restarts them within seconds."""
    chance = cluster.chance
    apart = apart or max(300.0, seconds / 40)
    when = cluster.line.now + chance.uniform(30.0, apart)
    ends = cluster.line.now + seconds

    def restart() -> None:
        node = cluster.nodes[chance.choice(list(cluster.nodes))]
        if node.agent.alive:
            cluster.world.counts["agents restarted"] += 1
            node.restart_agent(chance.uniform(0.1, 8.0))

    while when < ends:
        cluster.line.at(when, restart)
        when += chance.uniform(0.5, 1.5) * apart


def _restart_nodes(cluster: Cluster, seconds: float) -> None:
    """Restart as many as an outage allows: none comes back before it is over, since its gate stays closed."""
    chance = cluster.chance
    names = chance.sample(list(cluster.nodes), chance.randint(0, cluster.may_restart))
    for name in names:
        cluster.line.after(chance.random() * seconds, lambda name=name: cluster.restart_node(name))  # type: ignore[misc]


def _step_clocks(cluster: Cluster, seconds: float) -> None:
    """In a third of the seeds the wall clocks of all nodes jump together past every certificate's expiry."""
    chance = cluster.chance
    if chance.random() < 1 / 3:
        by = chance.choice([-1.0, 1.0]) * chance.uniform(20 * HOUR, 100 * HOUR)

        def step() -> None:
            for node in cluster.nodes.values():
                node.wall_error = by

        cluster.line.after(chance.choice([-0.0, chance.random()]) * seconds, step)


KINDS: Final = (
    Kind("outage-1h", (5, 3, 16), 200, 12, _outage(HOUR)),
    Kind("outage-1d", (5,), 40, 1, _outage(DAY)),
    Kind("outage-7d", (5,), 5, 0, _outage(7 * DAY)),
    *(
        Kind(f"brown-out-{share}-of-{nodes}", (nodes,), 40, ci, _brown_out(share / 100))
        for nodes, ci in ((3, 4), (5, 4), (16, 1))
        for share in (50, 60, 70)
    ),
)
AGENTS_KILLED: Final = Kind("agents-killed", (5, 3, 16), 40, 6, _agents_killed)
"""Needs a feeder that runs API checks itself while the agent is silent."""
