"""etcd is restored while a node that lives on is cut off, or serves: no promise from before counts."""

from dataclasses import dataclass, field
from random import Random

import pytest

from nodemend.api.agent_lease import AgentReport
from nodemend.kube.agent_lease import AgentLease
from tests.simulation.fencing.kube_nodes import KubeNode
from tests.simulation.fencing.managers import Kept, Manager, Statuses
from tests.simulation.fencing.network import API
from tests.simulation.fencing.node import Node
from tests.simulation.fencing.run import NODES, set_up
from tests.simulation.fencing.surroundings import Surroundings

pytestmark = pytest.mark.attack("K1")
SEEDS = pytest.mark.parametrize("seed", range(4))
BUMPS = pytest.mark.parametrize("bump", [0, 1_000_000], ids=["plain", "bumped"])


@dataclass(slots=True)
class Place:
    """The cluster, and one backup of its etcd."""

    seed: int
    bump: int
    world: Surroundings = field(init=False)
    managers: list[Manager] = field(init=False)
    statuses: Statuses = field(init=False)
    leases: dict[str, AgentLease] = field(init=False)
    version: int = field(init=False)
    remediations: dict[str, Kept] = field(init=False)
    nodes: dict[str, KubeNode] = field(init=False)
    bound: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.world, self.managers, self.statuses = set_up(Random(self.seed))
        for node in self.world.nodes.values():
            node.liar = False
        self.run(150.0)

    @property
    def a(self) -> Node:
        return self.world.nodes["a"]

    def run(self, seconds: float) -> None:
        self.world.line.run(self.world.line.now + seconds)

    def back_up(self) -> None:
        world = self.world
        self.leases, self.version = dict(world.store.leases), world.store.version
        self.remediations, self.nodes, self.bound = (
            dict(self.statuses.of),
            dict(world.kube.of),
            set(world.bound),
        )

    def restore(self) -> None:
        world = self.world
        world.store.leases, world.store.version = dict(self.leases), self.version + self.bump
        self.statuses.of, world.kube.of, world.bound = (
            dict(self.remediations),
            dict(self.nodes),
            set(self.bound),
        )

    def cut_off(self) -> None:
        self.world.network.cut |= self.world.network.links_of("a", [API, *NODES])

    def want(self) -> None:
        self.managers[0].want("a", self.statuses.of["a"])


@SEEDS
@BUMPS
def test_a_node_that_serves_again_is_not_released_as_if_its_gate_held_it(seed: int, bump: int) -> None:
    place = Place(seed, bump)
    place.world.ambushed.add("a")
    place.want()
    while (lease := place.world.store.read("a")) is None or lease.marker is None:
        place.run(0.05)
    place.back_up()
    place.run(600.0)
    assert place.a.gate_open
    place.a.workload = True  # New pods were bound to it.
    served = place.a.boot_id

    place.restore()
    place.run(300.0)  # A release while it runs would raise.

    # This manager ends well nodes, too, and what it was asked for is in the backup.
    assert place.a.workload or place.a.boot_id != served


@SEEDS
@BUMPS
@pytest.mark.parametrize("change", ["peers given up", "stood down"])
def test_a_promise_that_was_lost_with_a_restore_proves_nothing_by_time(
    seed: int, bump: int, change: str
) -> None:
    place = Place(seed, bump)
    place.back_up()
    if change == "stood down":
        place.a.stop_agent(5000.0)
        place.run(40.0)
        assert place.a.permitted
    else:
        place.world.uncertified.add("a")
        place.run(50.0)
        lease = place.world.store.read("a")
        assert lease is not None
        assert isinstance(lease.report, AgentReport)
        assert not any(lease.report.peers)
    place.cut_off()
    place.run(200.0)
    boot = place.a.boot_id

    place.restore()
    place.want()
    place.run(300.0)  # To be proven over while it runs would raise.

    assert (place.a.up, place.a.boot_id) == (True, boot)
