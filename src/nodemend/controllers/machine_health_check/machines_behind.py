"""The Machines behind the Nodes of our own cluster."""

from collections.abc import Iterable, Iterator

from nodemend.controllers.machine_health_check.clusters import Clusters
from nodemend.controllers.machine_health_check.fleet import Fleet
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.remediation_record import RemediationRecord


class MachinesBehind:
    """A Machine of another cluster may name a node of this name, and is not meant."""

    def __init__(self, fleet: Fleet, clusters: Clusters) -> None:
        self._fleet = fleet
        self._clusters = clusters

    def of_node(self, node: str) -> Iterator[MachineRecord]:
        for key in self._fleet.naming(node):
            machine = self._fleet.machine(key)
            if machine is not None and self._clusters.nodes_of(machine) == self._clusters.own:
                yield machine

    def uids_behind(self, node: str) -> frozenset[str]:
        return frozenset(machine.uid for machine in self.of_node(node))

    def asked_nodes(self, now: float, records: Iterable[RemediationRecord]) -> frozenset[str]:
        """The nodes for whose Machine something was asked of which these remediations do not tell."""
        remediated = {uid for record in records for uid in record.owners}
        keys = (*self._fleet.asked(), *self._fleet.begun(now, ()))
        machines = (machine for key in keys if (machine := self._fleet.machine(key)) is not None)
        return frozenset(
            machine.node or machine.key
            for machine in machines
            if machine.uid not in remediated and self._clusters.nodes_of(machine) == self._clusters.own
        )

    def asked_behind(self, node: str) -> str:
        """One of them whose owner is asked to replace it; empty when none is."""
        return next((f"The owner of {one}" for one in self.of_node(node) if one.marks.asks_owner), "")
