"""A management cluster, and the workload clusters whose kubeconfigs are in its Secrets."""

import base64
from typing import Any, Final

from nodemend.api.machine_health_check import CLUSTER_LABEL
from nodemend.api.resources import LEASE, NODE, SECRET
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.workload_clusters import ClusterNodes
from nodemend.kube.ports import Connector
from simulation.api_server.admission import ADMIN, Authorizer, allow_everything
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import Silent
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, LinkQuality
from simulation.other_clusters import OtherCluster, SimulatedConnector
from simulation.processes import SimulatedProcess
from tests.unit.health.machine.machine_world import SPACE, MachineWorld

SEEN: Final = "seen"


class RecordedVisibility(Silent):
    """The observed states of each cluster, in order."""

    def __init__(self) -> None:
        self.of: dict[str, list[str]] = {}

    def looked(self, *reported: Any) -> None:
        cluster, found, _failure = reported
        said = SEEN if isinstance(found, ClusterNodes) else found.why
        self.of.setdefault(cluster.partition("/")[2], []).append(said)


class WorkloadWorld(MachineWorld):
    """Each workload cluster has three nodes, whose machines are named alike, and a check with a template."""

    def __init__(
        self,
        *clusters: str,
        connected: bool = True,
        authorizer: Authorizer = allow_everything,
        **policy: Any,
    ) -> None:
        """`connected`: the checker may connect to workload clusters."""
        super().__init__(authorizer=authorizer, **policy)
        self._connected = connected
        self.connections = self.recorder = RecordedVisibility()
        self.clusters: dict[str, OtherCluster] = {}
        for name in clusters:
            self.add_workload_cluster(name)

    def connector(self, process: SimulatedProcess) -> Connector | None:
        if not self._connected:
            return None
        return SimulatedConnector(process, {one.address: one for one in self.clusters.values()})

    def start(
        self,
        *,
        calm: bool = True,
        medik8s_leases: str = "",
        recorder: MachineHealthCheckRecorder | Silent | None = None,
        link: LinkQuality = GOOD_LINK,
        annotation_template: str = "",
    ) -> "WorkloadWorld":
        """They connect a little later than the management cluster, and must be error-free as long."""
        super().start(
            calm=calm,
            medik8s_leases=medik8s_leases,
            recorder=recorder,
            link=link,
            annotation_template=annotation_template,
        )
        if calm:
            self.run(10)
        return self

    def tick(self) -> None:
        super().tick()
        for cluster in self.clusters.values():
            stamp = {"metadata": {"labels": {"at": f"{self.scheduler.now:.0f}"}}}
            self._direct(cluster).patch(LEASE, "busy", stamp, at=(SPACE, ""))
            cluster.server.tick()

    def add_workload_cluster(self, name: str, nodes: int = 3) -> OtherCluster:
        """Machines `a1` to `a3` for a cluster `a`, with nodes of these names."""
        cluster = self.clusters[name] = OtherCluster(self.scheduler, f"https://{name}.example.com:6443")
        self._direct(cluster).create(LEASE, {"metadata": {"name": "busy"}, "spec": {}}, SPACE)
        self.add_cluster(name)
        self.write_secret(name, cluster.kubeconfig())
        for number in range(1, nodes + 1):
            self.add_far_machine(name, f"{name}{number}")
        self.add_check(name, template=True, clusterName=name)
        return cluster

    def add_far_machine(self, cluster: str, machine: str, *, node: str = "") -> None:
        named = node or machine
        body = {"metadata": {"name": named}, "spec": {"providerID": f"metal://{named}"}}
        self.api_of(cluster).create(NODE, body)
        self.set_far(cluster, named, "True")
        self.add_machine(machine, node=named, cluster=cluster)

    def api_of(self, cluster: str) -> Direct:
        return self._direct(self.clusters[cluster])

    def _direct(self, cluster: OtherCluster) -> Direct:
        return Direct(Account(cluster.server, ADMIN))

    def set_far(self, cluster: str, node: str, ready: str) -> None:
        condition = {"type": "Ready", "status": ready, "reason": "Told", "lastTransitionTime": self.now}
        self.api_of(cluster).patch(NODE, node, {"status": {"conditions": [condition]}}, at=("", "status"))

    def write_secret(self, cluster: str, text: str, **labels: str) -> None:
        name = f"{cluster}-kubeconfig"
        data = {"value": base64.b64encode(text.encode()).decode()}
        meta = {"name": name, "labels": {CLUSTER_LABEL: cluster, **labels}}
        if self.api.get(SECRET, name, SPACE) is None:
            self.api.create(SECRET, {"metadata": meta, "data": data}, SPACE)
        else:
            self.api.patch(SECRET, name, {"metadata": meta, "data": data}, at=(SPACE, ""))
