"""Agents that die without a graceful stop: their feeders' own API checks keep the nodes alive or end them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from tests.simulation.self_fencing_nodes.cluster import QUICK, Cluster
from tests.simulation.self_fencing_nodes.directed import SETTLED
from tests.simulation.self_fencing_nodes.lost_promises import FOREVER


@contextmanager
def settled(seed: int) -> Iterator[Cluster]:
    """Yield a cluster in which every node has booted and has its agent and its peers."""
    cluster = Cluster(f"dead agents {seed}", nodes=5, quality=QUICK)
    cluster.run(SETTLED)
    assert all(node.runs and node.agent.alive for node in cluster.nodes.values())
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.mark.attack("V3")
@pytest.mark.parametrize("away", [60.0, 120.0])
def test_agents_that_die_silently_reset_no_node(away: float) -> None:
    """A faulty version: agents die everywhere, at once or one after another, for longer than G."""
    for seed, apart in ((1, 0.0), (2, 7.0)):
        with settled(seed) as cluster:
            before = cluster.counts["reset"]

            for number, node in enumerate(cluster.nodes.values()):
                cluster.scheduler.after(number * apart, partial(node.restart_agent, away))
            cluster.run(away + 120.0)

            assert cluster.counts["reset"] == before
            assert not cluster.invariants.marked_at
            assert all(node.agent.alive for node in cluster.nodes.values())


@pytest.mark.attack("V3")
def test_a_node_with_a_dead_agent_still_resets_when_it_is_cut_off_or_marked() -> None:
    with settled(3) as cluster:
        for name in ("node-1", "node-2"):
            cluster.nodes[name].restart_agent(FOREVER)
        cluster.run(100.0)
        boots = {name: node.boot_id for name, node in cluster.nodes.items()}

        cluster.isolate("node-1")
        cluster.complain("node-2")
        cluster.run(100.0)

        ended = {name for name, node in cluster.nodes.items() if node.boot_id != boots[name]}
        assert ended == {"node-1", "node-2"}
        assert boots["node-2"] in cluster.invariants.marked_at
