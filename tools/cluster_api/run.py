"""Cluster API's core manager on a control plane, with one Cluster, which is that control plane itself."""

import http.client
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from cluster_api import fake_providers, manifests, private_network
from controlplane.api import Object
from controlplane.build import build, build_family
from controlplane.node_objects import condition
from controlplane.pins import CLUSTER_API
from controlplane.ports import LOOPBACK
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.definitions import crds
from foreign_kinds.install import install, install_definitions

PROGRAM: Final = "cluster-api-manager"
KINDS: Final = ("cluster-api-all", "metal3")
# The manager's own. In a private network no other process uses them.
HEALTH_PORT: Final = 9440
DIAGNOSTICS_PORT: Final = 8443
CONNECTED: Final = ("InfrastructureReady", "ControlPlaneInitialized", "RemoteConnectionProbe")
CHECKS: Final = f"/apis/{manifests.VERSION}/namespaces/{manifests.NAMESPACE}/machinehealthchecks"
CLUSTERS: Final = f"/apis/{manifests.VERSION}/namespaces/{manifests.NAMESPACE}/clusters"
MACHINES: Final = f"/apis/{manifests.VERSION}/namespaces/{manifests.NAMESPACE}/machines"
REQUESTS: Final = f"/apis/{manifests.REMEDIATION}/namespaces/{manifests.NAMESPACE}/metal3remediations"


def prepare(settings: Settings) -> Path:
    """Build and download all that a run needs, while there is a network for it. Returns the manager."""
    build(settings.kubernetes)
    for project in KINDS:
        crds(project)
    return build_family(CLUSTER_API) / PROGRAM


class ClusterApi:
    """The running manager. It is a process of the control plane's, and ends with it.

    Raises RuntimeError outside a private network, which must also be the control plane's.
    """

    def __init__(self, plane: ControlPlane, program: Path, *, kubeconfig: Path | None = None) -> None:
        """`kubeconfig` is of the account that it runs under, if not the admin's."""
        if not private_network.is_private():
            raise RuntimeError("its webhook server would be open to the network; see private_network.py")
        self._plane = plane
        self._api = plane.api
        install(plane, *KINDS)
        install_definitions(plane, fake_providers.definitions())
        self.process = plane.run(PROGRAM, flags(plane, kubeconfig or plane.kubeconfig), program=program)
        await_ready(self.process)
        self._connect()

    def add_machines(self, nodes: Sequence[str], labels: Mapping[str, str]) -> None:
        """One Machine for each of these Nodes, of the same name."""
        for name in nodes:
            provider_id = self._api.get(f"/api/v1/nodes/{name}")["spec"]["providerID"]
            self.add_machine(name, labels, fake_providers.machine(name, manifests.NAMESPACE, provider_id))

    def add_machine(self, name: str, labels: Mapping[str, str], infrastructure: Object) -> None:
        self._api.create(infrastructure)
        self._api.create(manifests.machine(name, labels, self._pool, infrastructure["kind"]))

    def wait_for_nodes(self, machines: Iterable[str], *, within: float = 120) -> None:
        """Until the manager has found the Node of each of these Machines."""
        waiting = set(machines)

        def all_found() -> bool:
            waiting.difference_update(
                machine["metadata"]["name"]
                for machine in self._api.list(MACHINES)
                if machine.get("status", {}).get("nodeRef")
            )
            return not waiting

        wait_until("Machines have Nodes", all_found, within=within, processes=[self.process])

    def add_check(self, name: str, labels: Mapping[str, str], *, timeout: int, most: int) -> None:
        """A MachineHealthCheck that creates metal3's remediations."""
        self._api.create(manifests.check(name, labels, timeout=timeout, most=most))

    def wait_healthy(self, check: str, machines: int, *, within: float = 120) -> None:
        """Wait until the check counts this many healthy Machines."""
        path = f"{CHECKS}/{check}"

        def counted() -> bool:
            healthy: object = self._api.get(path).get("status", {}).get("currentHealthy")
            return healthy == machines

        wait_until(f"{check} counts {machines}", counted, within=within, processes=[self.process])

    def checks(self) -> dict[str, Object]:
        return _by_name(self._api.list(CHECKS))

    def machines(self) -> dict[str, Object]:
        return _by_name(self._api.list(MACHINES))

    def requests(self) -> dict[str, Object]:
        """The created remediations, by the name of their Machine."""
        return _by_name(self._api.list(REQUESTS))

    def _connect(self) -> None:
        """Make the Cluster, and wait until the manager is connected to it."""
        self._api.create(manifests.kubeconfig_secret(self._plane.kubeconfig))
        for fake in fake_providers.cluster(manifests.CLUSTER, manifests.NAMESPACE):
            self._api.create(fake)
        self._pool: str = self._api.create(manifests.pool())["metadata"]["uid"]
        self._api.create(manifests.template())
        self._api.create(manifests.cluster(LOOPBACK, self._plane.port))
        for kind in CONNECTED:
            what = f"the Cluster is {kind}"
            wait_until(what, partial(self._cluster_has, kind), within=60, processes=[self.process])

    def _cluster_has(self, kind: str) -> bool:
        return condition(self._api.get(f"{CLUSTERS}/{manifests.CLUSTER}"), kind) == "True"


def flags(plane: ControlPlane, kubeconfig: Path) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--health-addr={LOOPBACK}:{HEALTH_PORT}",
        f"--diagnostics-address={LOOPBACK}:{DIAGNOSTICS_PORT}",
        "--insecure-diagnostics",
        # It needs a certificate for its webhooks: the API server's is its own CA, and is for loopback.
        f"--webhook-cert-dir={plane.ca.parent}",
        f"--webhook-cert-name={plane.ca.name}",
        f"--webhook-key-name={plane.ca.with_suffix('.key').name}",
    ]


def await_ready(manager: Process) -> None:
    wait_until("Cluster API's manager is ready", _ready, within=60, processes=[manager])


def _by_name(items: list[Object]) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in items}


def _ready() -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, HEALTH_PORT, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
