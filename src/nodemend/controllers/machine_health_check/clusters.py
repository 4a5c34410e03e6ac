"""Where the nodes of each cluster are seen."""

from dataclasses import dataclass, field

from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.machine_health_check.fleet import Fleet, cluster_of
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import ObjectCache


@dataclass(frozen=True, slots=True)
class ClusterNodes:
    """The nodes of one cluster, and for how long we have seen them as they are."""

    nodes: ObjectCache[NodeRecord]
    seen: Observations


@dataclass(frozen=True, slots=True)
class NotSeen:
    why: str


@dataclass(slots=True)
class Clusters:
    """Our own cluster's nodes. A Cluster is taken for our own only on evidence.

    A Machine names its Node by name alone, and a name says nothing about the cluster. If we looked for the
    nodes of another cluster in ours, every one of them would seem to be gone. So a Cluster is our own when
    the Node of one of its Machines is here with that Machine's provider ID.
    """

    own: ClusterNodes
    _own_names: set[str] = field(default_factory=set)

    def nodes_of(self, machine: MachineRecord) -> ClusterNodes | NotSeen:
        cluster = cluster_of(machine)
        if not cluster or cluster in self._own_names:
            return self.own
        return NotSeen(f"no node of the cluster {cluster} is seen here with its machine's provider ID")

    def learn(self, machine: MachineRecord) -> bool:
        """Take its node as evidence, if it is some. True when that is news for the whole cluster."""
        cluster, node = cluster_of(machine), self.own.nodes.get(machine.node)
        if not cluster or cluster in self._own_names or node is None:
            return False
        if not machine.provider_id or machine.provider_id != node.provider_id:
            return False
        self._own_names.add(cluster)
        return True

    def learn_from_node(self, fleet: Fleet, node: NodeRecord) -> frozenset[str]:
        """The clusters of which a node that has come is evidence."""
        claimed = (fleet.machine(key) for key in fleet.naming(node.name))
        return frozenset(
            cluster_of(machine) for machine in claimed if machine is not None and self.learn(machine)
        )
