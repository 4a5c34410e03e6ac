"""The shipped checkers and remediators on the simulated API server, and nodes with shipped agents.

The nodes are those of tests/simulation/self_fencing; their store is the API server.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import NODE, SELF_REMEDIATION_TEMPLATE
from nodemend.guard.policy_proof import Admission
from nodemend.protocol.timing import USUAL_PACE
from nodemend.safety.time_proof import DEFAULT_ASSUMPTIONS
from simulation.api_server.admission import User
from simulation.cluster.replicas import Replica, find_leader
from simulation.cluster.world import Account, Shape, World
from simulation.network import LinkQuality
from tests.simulation.self_fencing.fencing_cluster import FencingCluster
from tests.simulation.self_fencing.network import API, Network
from tests.simulation.self_fencing_nodes.api_store import ApiStore
from tests.simulation.self_fencing_nodes.fenced_node import FencedNode
from tests.simulation.self_fencing_nodes.invariants import FencingInvariants
from tests.simulation.self_fencing_nodes.line import SchedulerLine

TEMPLATE: Final = "reset-themselves"
SICK: Final = {"type": "example.com/Sick", "status": "True"}
"""The condition by which a user declares a connected node unhealthy."""
QUICK: Final = LinkQuality(delay=(0.0003, 0.0006))
POLICY: Final = {"maxConcurrentPercent": 100, "maxUnhealthy": "100%", "minInterval": "0s", "settleTime": "0s"}
CHECK: Final[dict[str, Any]] = {
    "thresholds": [
        {**SICK, "period": "1s"},
        {"type": "Ready", "status": "Unknown", "period": "5s"},
    ],
    "remedies": [
        {
            "template": {
                "apiVersion": SELF_REMEDIATION_TEMPLATE.api_version,
                "kind": SELF_REMEDIATION_TEMPLATE.kind,
                "name": TEMPLATE,
                "namespace": well_known.SYSTEM_NAMESPACE,
            }
        }
    ],
}
CONNECTED_EVERY: Final = 0.5
TOKEN_READ_EVERY: Final = 10.0


class Cluster:
    """The whole world, and its invariants."""

    def __init__(
        self,
        seed: str,
        *,
        nodes: int,
        quality: LinkQuality,
        slowest: bool = False,
        ride_through: float = 0.0,
        feeds_longer: float = 0.0,
        invariants: FencingInvariants | None = None,
        admission: Mapping[str, Admission] | None = None,
        keep_trace: bool = False,
    ) -> None:
        """`feeds_longer`: seconds by which feeders accept longer leases than agents give them."""
        self.invariants = invariants or FencingInvariants()
        shape = Shape(
            people=False,
            self_fencing=True,
            machines=nodes,
            workloads=nodes,
            quality=quality,
            policy=POLICY,
            check=CHECK,
            admission=admission or {},
        )
        self.world = World(seed, shape, self.invariants.started, keep_trace=keep_trace)
        self.scheduler = self.world.scheduler
        self.api = self.world.admin_api
        template = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": {}}}}
        self.api.create(SELF_REMEDIATION_TEMPLATE, template, well_known.SYSTEM_NAMESPACE)
        self.chance = self.scheduler.chance("nodes")
        self.line = SchedulerLine(self.scheduler)
        self.network = Network(self.line, self.chance)
        self.agents = Account(self.world.server, User("agents"))
        self.store = ApiStore(self.network, account=self.agents, scheduler=self.scheduler)
        self.around = FencingCluster(
            self.line,
            self.network,
            self.store,
            self.chance,
            clock_error=DEFAULT_ASSUMPTIONS.clock_error,
            watchdog_error=DEFAULT_ASSUMPTIONS.watchdog_error,
            lease_length=USUAL_PACE.feed_lease + ride_through + feeds_longer,
            ride_through=ride_through,
            byzantine_peers=DEFAULT_ASSUMPTIONS.byzantine_peers,
        )
        self.nodes = {
            name: FencedNode(
                machine, self.around, self.api, self.scheduler.chance(f"fenced {name}"), slowest=slowest
            )
            for name, machine in self.world.machines.items()
        }
        self.around.nodes.update(self.nodes)
        self.invariants.watch(self)
        self._connect()
        self._follow_nodes()

    def tell(self, what: str) -> None:
        self.scheduler.note(what)

    @property
    def counts(self) -> Counter[str]:
        return self.around.counts

    @property
    def parties(self) -> list[str]:
        return [API, *self.nodes]

    @property
    def remediators(self) -> list[Replica]:
        return [one for one in self.world.replicas if one.name.startswith("remediator")]

    @property
    def leader(self) -> Replica:
        return find_leader(self.api, "remediator", self.world.replicas)

    def run(self, seconds: float) -> None:
        self.world.run(self.scheduler.now + seconds)

    def close(self) -> None:
        self.world.close()

    # Actions of users and networks.

    def complain(self, name: str) -> None:
        """Set the condition on the Node by which the check requests its remediation."""
        self._conditions(name, [SICK])

    def content(self, name: str) -> None:
        self._conditions(name, [])

    def _conditions(self, name: str, wanted: list[dict[str, str]]) -> None:
        found = self.api.get(NODE, name)
        if found is None:
            return
        reported = (found.get("status") or {}).get("conditions") or ()
        others = [one for one in reported if one["type"] != SICK["type"]]
        change = {"status": {"conditions": [*wanted, *others]}}
        self.api.patch(NODE, name, change, at=("", "status"))

    def isolate(self, name: str) -> None:
        """Cut the node off from all other parties."""
        self.network.cut |= self.network.links_of(name, self.parties)
        self.nodes[name].connect()

    def cut(self, names: Iterable[str], other: str = API) -> None:
        """Cut each of these nodes off from the other party, in both directions."""
        for name in names:
            self.network.cut |= {(name, other), (other, name)}
            self.nodes[name].connect()

    def join(self, names: Iterable[str], other: str = API) -> None:
        for name in names:
            self.network.cut -= {(name, other), (other, name)}
            self.nodes[name].connect()

    def set_clocks(self, rate: float) -> None:
        """Set the clock rate of all managers."""
        for replica in self.world.replicas:
            replica.clock.rate = rate

    def _connect(self) -> None:
        for node in self.nodes.values():
            node.connect()
        self.scheduler.after(CONNECTED_EVERY, self._connect)

    def _follow_nodes(self) -> None:
        for node in self.nodes.values():
            node.follow_node()
        self.scheduler.after(TOKEN_READ_EVERY, self._follow_nodes)
