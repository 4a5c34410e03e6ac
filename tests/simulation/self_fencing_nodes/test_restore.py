"""etcd is restored while a living node is cut off or serves: no promise from before counts."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nodemend.api.agent import AgentReport
from simulation.api_server.storage import Snapshot
from tests.simulation.self_fencing_nodes.cluster import QUICK, Cluster
from tests.simulation.self_fencing_nodes.directed import SETTLED
from tests.simulation.self_fencing_nodes.fenced_node import FencedNode
from tests.simulation.self_fencing_nodes.lost_promises import BUMPED, FOREVER

pytestmark = pytest.mark.attack("K1")
SEEDS = pytest.mark.parametrize("seed", range(4))
BUMPS = pytest.mark.parametrize("bump", [0, BUMPED], ids=["plain", "bumped"])
SICK = "node-1"
NOT_READY = 50.0
"""Seconds after which an isolated Node is not Ready, and before time has proven anything."""


@contextmanager
def settled(seed: int) -> Iterator[tuple[Cluster, FencedNode]]:
    """Yield a settled cluster. Its invariants check every write: a release of a running boot raises."""
    cluster = Cluster(f"restore {seed}", nodes=5, quality=QUICK)
    cluster.run(SETTLED)
    try:
        yield cluster, cluster.nodes[SICK]
    finally:
        cluster.close()


def restore(cluster: Cluster, backup: Snapshot, bump: int) -> None:
    """Restore etcd. With reused revisions watches may miss changes, so programs restart, as documented."""
    cluster.world.server.restore(backup, bump=bump)
    if not bump:
        for replica in cluster.world.replicas:
            replica.process.crash()


def mark_and_lose(cluster: Cluster) -> None:
    cluster.invariants.on_marked = lambda _name: cluster.isolate(SICK)
    cluster.complain(SICK)
    cluster.run(NOT_READY)


@SEEDS
@BUMPS
def test_a_node_that_serves_again_is_not_released_as_if_its_gate_held_it(seed: int, bump: int) -> None:
    """The agent reports a new boot, as a gate does; its kubelet hangs, and started processes keep running."""
    with settled(seed) as (cluster, sick):
        mark_and_lose(cluster)
        backup = cluster.world.server.snapshot()
        cluster.run(50.0)
        cluster.network.cut.clear()
        cluster.content(SICK)
        cluster.run(600.0)
        cluster.invariants.settled()
        served, released = sick.boot_id, cluster.invariants.releases.total()

        sick.machine.hung = True
        restore(cluster, backup, bump)
        cluster.run(300.0)

        # The request is in the backup: the node may be fenced again, and is not released before that.
        assert sick.boot_id != served or cluster.invariants.releases.total() == released


@SEEDS
@BUMPS
@pytest.mark.parametrize("change", ["peers given up", "stood down"])
def test_a_promise_that_was_lost_with_a_restore_proves_nothing_by_time(
    seed: int, bump: int, change: str
) -> None:
    with settled(seed) as (cluster, sick):
        backup = cluster.world.server.snapshot()
        if change == "stood down":
            sick.stop_agent(FOREVER)
            cluster.run(40.0)
            assert sick.permitted
        else:
            cluster.around.uncertified.add(SICK)
            cluster.run(50.0)
            lease = cluster.store.read(SICK)
            assert lease is not None
            assert isinstance(lease.report, AgentReport)
            assert not any(lease.report.peers)
        cluster.isolate(SICK)
        cluster.run(50.0)
        boot = sick.boot_id

        restore(cluster, backup, bump)
        cluster.complain(SICK)
        cluster.run(300.0)

        assert (sick.up, sick.boot_id) == (True, boot)
        assert boot in cluster.invariants.marked_at
