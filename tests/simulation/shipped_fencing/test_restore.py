"""etcd is restored while a node that lives on is cut off, or serves: no promise from before counts."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nodemend.api.agent_lease import AgentReport
from nodemend.testing.api_server.storage import Snapshot
from tests.simulation.shipped_fencing.cluster import QUICK, Cluster
from tests.simulation.shipped_fencing.directed import SETTLED
from tests.simulation.shipped_fencing.fenced_node import FencedNode
from tests.simulation.shipped_fencing.lost_promises import BUMPED, FOR_GOOD

pytestmark = pytest.mark.attack("K1")
SEEDS = pytest.mark.parametrize("seed", range(4))
BUMPS = pytest.mark.parametrize("bump", [0, BUMPED], ids=["plain", "bumped"])
SICK = "node-1"
NOT_READY = 50.0
"""Seconds after which a Node that nobody hears is not Ready; before time has proven anything."""


@contextmanager
def settled(seed: int) -> Iterator[tuple[Cluster, FencedNode]]:
    """The invariants are checked at every write: a release of a boot that runs raises."""
    cluster = Cluster(f"restore {seed}", nodes=5, quality=QUICK)
    cluster.run(SETTLED)
    try:
        yield cluster, cluster.nodes[SICK]
    finally:
        cluster.close()


def restore(cluster: Cluster, backup: Snapshot, bump: int) -> None:
    """Without bumped revisions watches may miss changes: our programs are restarted then, as docs ask for."""
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
    """Its agent reports a new boot, as a gate does; its kubelet hangs, and what it has started runs on."""
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

        # What was asked for is in the backup: it may be ended once more, and is not released before that.
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
            sick.stop_agent(FOR_GOOD)
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
