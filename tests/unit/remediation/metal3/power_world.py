"""Hosts of metal3, their Machines of Cluster API, and a remediation that a Machine owns."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, CAPM3_REMEDIATION, METAL3_REMEDIATION, NODE, Resource
from simulation.api_server.admission import User
from simulation.cluster.direct import Object
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.machines import node_info
from simulation.cluster.world import Account, Shape, World
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.rack import NAMESPACE, Rack
from tests.unit.remediation.complaints import OPEN, complain

MACHINE: Final = Resource("cluster.x-k8s.io", "v1beta2", "Machine", "machines")
MACHINE_HEALTH_CHECK: Final = Resource(
    "cluster.x-k8s.io", "v1beta2", "MachineHealthCheck", "machinehealthchecks"
)
MACHINE_SET: Final = Resource("cluster.x-k8s.io", "v1beta2", "MachineSet", "machinesets")
METAL3_MACHINE: Final = Resource(
    "infrastructure.cluster.x-k8s.io", "v1beta1", "Metal3Machine", "metal3machines"
)
KINDS: Final = (
    BARE_METAL_HOST,
    HOST_UPDATE_POLICY,
    HOST_FIRMWARE_SETTINGS,
    MACHINE,
    MACHINE_HEALTH_CHECK,
    MACHINE_SET,
    METAL3_MACHINE,
)
SICK: Final = "node-1"
QUICK: Final = {
    "strategy": "escalate",
    "deleteAfterRetries": 0,
    "powerOffTimeoutSeconds": 60,
    "powerOnTimeoutSeconds": 90,
}


class PowerWorld:
    """Machine `m-N` is the node `node-N` on the host `node-N`.

    No checker runs: the test creates remediations.
    """

    def __init__(
        self,
        seed: str,
        *,
        node_deletion: bool = False,
        capm3_kinds: bool = False,
        installed: bool = True,
        machines: int = 3,
        policy: Mapping[str, Any] = MappingProxyType(OPEN),
        check: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """`capm3_kinds`: they are served; `installed`: their objects exist."""
        kinds = (*KINDS, CAPM3_REMEDIATION) if installed else KINDS
        definitions = tuple(map(a_definition, kinds))
        shape = Shape(
            people=False,
            power_cycle=True,
            node_deletion=node_deletion,
            capm3_kinds=capm3_kinds,
            machines=machines,
            policy=policy,
            check=check,
            definitions=definitions,
        )
        self.world = World(seed, shape)
        self.asker = self.api = self.world.admin_api
        """`asker` creates the remediations of `ask`."""
        account = Account(self.world.server, User("metal3"))
        self.rack = Rack(self.world.scheduler, self.world.machines, account)
        self.rack.enrol(self.api, deployed=True)
        workers = self.api.create(MACHINE_SET, {"metadata": {"name": "workers"}}, NAMESPACE)
        self._machines = {
            node: self._introduce(node, node.replace("node", "m"), workers) for node in self.world.machines
        }
        self.run(90.0)

    def _introduce(self, node: str, name: str, workers: Object) -> Object:
        provider = f"metal3://{NAMESPACE}/{node}/{name}"
        named = {"kind": METAL3_MACHINE.kind, "name": name, "apiVersion": METAL3_MACHINE.api_version}
        owners = [owned_by(MACHINE_SET, workers) | {"controller": True}]
        machine = self.api.create(
            MACHINE,
            {
                "metadata": {"name": name, "ownerReferences": owners},
                "spec": {"providerID": provider, "infrastructureRef": named},
            },
            NAMESPACE,
        )
        bearer = {
            "name": name,
            "annotations": {well_known.HOST_OF_MACHINE: f"{NAMESPACE}/{node}"},
            "ownerReferences": [owned_by(MACHINE, machine)],
        }
        self.api.create(METAL3_MACHINE, {"metadata": bearer, "spec": {"providerID": provider}}, NAMESPACE)
        status = {"nodeRef": {"name": node}, "nodeInfo": node_info(node, self.world.machines[node].boot_id)}
        self.api.patch(MACHINE, name, {"status": status}, at=(NAMESPACE, "status"))
        consumer = {"kind": METAL3_MACHINE.kind, "name": name, "namespace": NAMESPACE}
        self.patch_host({"spec": {"consumerRef": consumer}}, node)
        self._join(
            node, provider, {well_known.MACHINE_OF_NODE: name, well_known.NAMESPACE_OF_CLUSTER: NAMESPACE}
        )
        return machine

    def _join(self, node: str, provider: str, said: dict[str, str]) -> None:
        """Write the Node's fields as its kubelet and the controllers of its Machine do."""
        machine = self.world.machines[node]
        machine.provider_id, machine.annotations = provider, said
        change = {"metadata": {"annotations": said}, "spec": {"providerID": provider}}
        self.api.patch(NODE, node, change)

    def ask(self, node: str = SICK, *, named: Mapping[str, Any] = MappingProxyType({}), **spec: Any) -> None:
        """Create a remediation as a MachineHealthCheck does: named like the Machine, owned by it.

        `named` is more metadata.
        """
        machine = self._machines[node]
        metadata = {
            "name": machine["metadata"]["name"],
            "ownerReferences": [owned_by(MACHINE, machine)],
            **named,
        }
        body = {"metadata": metadata, "spec": {**QUICK, **spec}}
        self.asker.create(METAL3_REMEDIATION, body, NAMESPACE)

    def ask_by_check(self, node: str) -> None:
        """Create a remediation as a NodeHealthCheck does for an unhealthy node: named like the node."""
        body = {"metadata": complain(self.api, node), "spec": QUICK}
        self.api.create(METAL3_REMEDIATION, body, NAMESPACE)

    def run(self, seconds: float) -> None:
        self.world.run(self.world.scheduler.now + seconds)

    def patch_host(self, change: dict[str, Any], name: str = SICK) -> None:
        self.api.patch(BARE_METAL_HOST, name, change, at=(NAMESPACE, ""))

    @property
    def remediation(self) -> Object | None:
        return self.api.get(METAL3_REMEDIATION, "m-1", NAMESPACE)

    @property
    def status(self) -> Object:
        found = self.remediation
        assert found is not None
        status: Object = found.get("status", {})
        return status

    @property
    def machine(self) -> Object:
        found = self.api.get(MACHINE, "m-1", NAMESPACE)
        assert found is not None
        return found

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the unhealthy node's host."""
        host = self.api.get(BARE_METAL_HOST, SICK, NAMESPACE)
        assert host is not None
        found: dict[str, str] = host["metadata"].get("annotations", {})
        return found

    @property
    def holds(self) -> list[str]:
        """Nodemend's power-off requests on the unhealthy node's host."""
        return [key for key in self.annotations if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)]

    @property
    def node(self) -> Object | None:
        """The unhealthy Node."""
        return self.api.get(NODE, SICK)

    def close(self) -> None:
        self.rack.close()
        self.world.close()


def owned_by(resource: Resource, owner: Object) -> Object:
    metadata = owner["metadata"]
    reference = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**reference, "name": metadata["name"], "uid": metadata["uid"]}
