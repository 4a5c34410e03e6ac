"""Where the nodes of each cluster are seen, and whether they are seen at all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from nodemend.api.node import Node
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.machine_health_check.fleet import Fleet, cluster_of
from nodemend.decide.facts import Seen, Unreadable
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
    """No node is known to be its own. What its machines say of themselves counts nevertheless."""

    why: str


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """Its API server cannot be asked: then nothing about its machines is certain."""

    why: str


Whereabouts = ClusterNodes | NotSeen | OutOfReach


class OtherCluster(Protocol):
    """A cluster that we have a connection to, or try to have."""

    @property
    def whereabouts(self) -> Whereabouts: ...

    @property
    def cache(self) -> ObjectCache[NodeRecord]: ...

    @property
    def sightings(self) -> int:
        """How often its nodes have come into sight."""
        ...

    async def read_node(self, name: str) -> Seen[Node]:
        """As its API server has it now. Has an end."""
        ...


@dataclass(slots=True)
class Clusters:
    """Our own cluster's nodes, and those of others that we look at.

    A Machine names its Node by name alone, and a name says nothing about the cluster. If we looked for the
    nodes of another cluster in ours, every one of them would seem to be gone. So a Cluster is our own when
    the Node of one of its Machines is here with that Machine's provider ID.
    """

    own: ClusterNodes
    others: Mapping[str, OtherCluster]
    """By the namespace and name of their Cluster."""
    _own_names: set[str] = field(default_factory=set)

    def nodes_of(self, machine: MachineRecord) -> Whereabouts:
        cluster = cluster_of(machine)
        if self.is_own(cluster):
            return self.own
        other = self.others.get(cluster)
        if other is not None:
            return other.whereabouts
        return NotSeen(f"no node of the cluster {cluster} is seen here with its machine's provider ID")

    def is_own(self, cluster: str) -> bool:
        return not cluster or cluster in self._own_names

    def is_elsewhere(self, cluster: str) -> bool:
        """Whether we know that its nodes are not those of our own cluster."""
        return not self.is_own(cluster) and cluster in self.others

    def cache_of(self, cluster: str) -> ObjectCache[NodeRecord] | OutOfReach:
        """What tells how well a cluster is seen. Of one that we do not look at, our own tells."""
        other = None if self.is_own(cluster) else self.others.get(cluster)
        if other is None:
            return self.own.nodes
        return other.whereabouts if isinstance(other.whereabouts, OutOfReach) else other.cache

    def sightings(self, cluster: str) -> int:
        other = None if self.is_own(cluster) else self.others.get(cluster)
        return other.sightings if other is not None else 0

    async def read_node(self, machine: MachineRecord, own: Reader) -> Seen[Node]:
        """The Node that a machine names, from the API server that has it."""
        match self.nodes_of(machine):
            case ClusterNodes() as where:
                if where is self.own:
                    return await own.node(machine.node)
                return await self.others[cluster_of(machine)].read_node(machine.node)
            case NotSeen(why) | OutOfReach(why):
                return Unreadable(why)
            case other:
                assert_never(other)

    def learn(self, machine: MachineRecord) -> bool:
        """Take its node as evidence, if it is some. True when that is news for the whole cluster."""
        cluster = cluster_of(machine)
        if self.is_own(cluster) or not vouches(machine, self.own.nodes):
            return False
        self._own_names.add(cluster)
        return True

    def learn_from_node(self, fleet: Fleet, node: NodeRecord) -> frozenset[str]:
        """The clusters of which a node that has come is evidence."""
        claimed = (fleet.machine(key) for key in fleet.naming(node.name))
        return frozenset(
            cluster_of(machine) for machine in claimed if machine is not None and self.learn(machine)
        )


def vouches(machine: MachineRecord, nodes: ObjectCache[NodeRecord]) -> bool:
    """Whether a machine's node is among these: by name, and by the provider's own word for it."""
    node = nodes.get(machine.node)
    return node is not None and bool(machine.provider_id) and machine.provider_id == node.provider_id
