"""Machines of a simulated cluster as metal3 hosts: a BMC for each, an Ironic, and the operator.

The nodes of such a cluster are healed by power cycles. The hosts can have Machines of Cluster API or
OpenShift, with their mutual references.
"""

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION_TEMPLATE, NODE, SECRET, Resource
from nodemend.kube.ports import Runtime, Transport
from nodemend.records.machine import CLUSTER_API, OPENSHIFT
from simulation.cluster.direct import Direct, Object
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.machines import Machine, node_info, system_uuid
from simulation.cluster.replicas import Replica
from simulation.cluster.world import Shape, World
from simulation.metal3.bmc import SimulatedBmc, Switched
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.ironic import Ironic, IronicClient
from simulation.metal3.operator import HostOperator
from simulation.network import GOOD_LINK, Endpoint, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

NAMESPACE: Final = "default"
_ADMIN: Final = "YWRtaW4="


class Rack:
    """The metal3 installation of one simulated cluster. Hosts have the names of their machines.

    `endpoint` is the operator's account. The cluster must serve BareMetalHosts. Callers inject faults with
    `bmcs[name].faults`, `ironic.stop()` and `operator.process.crash()`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        machines: Mapping[str, Switched],
        endpoint: Endpoint,
        quality: LinkQuality = GOOD_LINK,
    ) -> None:
        self.bmcs = {
            name: SimulatedBmc(SimulatedProcess(scheduler, f"bmc of {name}", HostClock()), machine)
            for name, machine in machines.items()
        }
        self.ironic = Ironic({address(name): bmc for name, bmc in self.bmcs.items()})
        self.ironic.start(SimulatedProcess(scheduler, "ironic", HostClock()))
        self.operator = Replica(scheduler, "baremetal-operator", self._program, endpoint, quality)
        self.operator.watch_over()

    def enrol(self, api: Direct, *, deployed: bool = False, crossed: Mapping[str, str] | None = None) -> None:
        """Create a host for each machine; the operator discovers the rest.

        Hosts are provisioned externally, or by metal3 if `deployed`. `crossed` maps a host to the machine
        whose BMC it has.
        """
        for name in self.bmcs:
            api.create(SECRET, secret_for(name), NAMESPACE)
            behind = (crossed or {}).get(name, name)
            bmc = {"address": address(behind), "credentialsName": f"{name}-bmc"}
            source = {"image": {"url": "an image"}} if deployed else {"externallyProvisioned": True}
            spec = {"online": True, "bmc": bmc, **source}
            api.create(BARE_METAL_HOST, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)

    def close(self) -> None:
        """End the operator and Ironic."""
        self.operator.process.crash()
        self.ironic.stop()

    def _program(self, runtime: Runtime, transport: Transport, _name: str) -> Coroutine[Any, Any, None]:
        return HostOperator(runtime, transport, IronicClient(self.ironic, runtime)).run()


def secret_for(host: str) -> dict[str, Any]:
    """Return the Secret with the credentials of the host's BMC."""
    return {"metadata": {"name": f"{host}-bmc"}, "data": {"username": _ADMIN, "password": _ADMIN}}


def address(machine: str) -> str:
    """Return the address of the machine's BMC."""
    return f"redfish://{machine}.bmc/redfish/v1/Systems/1"


TEMPLATE: Final = "switch-it"
OPERATOR: Final = "system:serviceaccount:metal3:baremetal-operator"
KINDS: Final = (BARE_METAL_HOST, HOST_UPDATE_POLICY, HOST_FIRMWARE_SETTINGS)
CROSSED: Final = {"node-1": "node-2", "node-2": "node-1"}
NEWER_FORM: Final = "metal3://{namespace}/{host}/{machine}"
"""Format of the provider ID by which a node names its host."""
SPEC: Final = {
    "strategy": "retry",
    "powerOffTimeoutSeconds": 300,
    "powerOnTimeoutSeconds": 120,
}
BY_DELETION: Final = {**SPEC, "releaseBy": "node-deletion"}

REMEDIES: Final = [
    {
        "template": {
            "apiVersion": METAL3_REMEDIATION_TEMPLATE.api_version,
            "kind": METAL3_REMEDIATION_TEMPLATE.kind,
            "name": TEMPLATE,
            "namespace": well_known.SYSTEM_NAMESPACE,
        }
    }
]


def shaped(*, others: Iterable[Resource] = (), **options: Any) -> Shape:
    """Return a world without people in which hosts are power-cycled. `others` are further kinds to define."""
    definitions = tuple(map(a_definition, (*KINDS, *others)))
    return Shape(
        people=False, power_cycle=True, definitions=definitions, check={"remedies": REMEDIES}, **options
    )


def furnish(
    world: World,
    spec: Mapping[str, Any] = SPEC,
    *,
    crossed: bool = False,
    deployed: bool = False,
    provider_id: str = NEWER_FORM,
) -> Rack:
    """Create the template, and a host for every machine with the provider ID of its node.

    `deployed`: metal3 itself deployed the machines. `crossed`: two BMCs are interchanged; only the system
    UUID that is annotated on each host reveals it.
    """
    template = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": dict(spec)}}}
    world.admin_api.create(METAL3_REMEDIATION_TEMPLATE, template, well_known.SYSTEM_NAMESPACE)
    rack = Rack(world.scheduler, world.machines, world.account(OPERATOR))
    behind = {**CROSSED} if crossed else {}
    rack.enrol(world.admin_api, deployed=deployed, crossed=behind)
    for name, switched in world.machines.items():
        uuid = system_uuid(behind.get(name, name))
        reported = {"metadata": {"annotations": {well_known.HOST_SYSTEM_UUID: uuid}}}
        host = world.admin_api.patch(BARE_METAL_HOST, name, reported, at=(NAMESPACE, "")) or {}
        uid, machine = host["metadata"]["uid"], machine_of(name)
        said = provider_id.format(namespace=NAMESPACE, host=name, machine=machine, uid=uid)
        switched.provider_id = said
        if said:
            world.admin_api.patch(NODE, name, {"spec": {"providerID": said}})
    return rack


def machine_of(node: str) -> str:
    """Return the name of the node's Machine, in worlds with Machines."""
    return node.replace("node", "m")


MACHINE: Final = Resource(CLUSTER_API, "v1beta2", "Machine", "machines")
MACHINE_SET: Final = Resource(CLUSTER_API, "v1beta2", "MachineSet", "machinesets")
METAL3_MACHINE: Final = Resource(
    "infrastructure.cluster.x-k8s.io", "v1beta1", "Metal3Machine", "metal3machines"
)
SHIFT_MACHINE: Final = Resource(OPENSHIFT, "v1beta1", "Machine", "machines")
SHIFT_SET: Final = Resource(OPENSHIFT, "v1beta1", "MachineSet", "machinesets")
PROJECTS: Final = {
    "Cluster API": (MACHINE, MACHINE_SET, METAL3_MACHINE),
    "OpenShift": (SHIFT_MACHINE, SHIFT_SET),
}


def introduce(world: World, project: str) -> None:
    """Create Machine `m-N` for the node `node-N` on the host of that name, owned by a MachineSet."""
    api = world.admin_api
    machine, machine_set = PROJECTS[project][:2]
    workers = api.create(machine_set, {"metadata": {"name": "workers"}}, NAMESPACE)
    owners = [owned_by(machine_set, workers) | {"controller": True}]
    for node in world.machines.values():
        meet = _meet_cluster_api if machine is MACHINE else _meet_openshift
        meet(api, node, machine_of(node.name), owners)


def owned_by(resource: Resource, owner: Object) -> Object:
    metadata = owner["metadata"]
    reference = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**reference, "name": metadata["name"], "uid": metadata["uid"]}


def _meet_cluster_api(api: Direct, node: Machine, name: str, owners: list[Object]) -> None:
    provider = NEWER_FORM.format(namespace=NAMESPACE, host=node.name, machine=name)
    named = {"kind": METAL3_MACHINE.kind, "name": name, "apiVersion": METAL3_MACHINE.api_version}
    spec = {"providerID": provider, "infrastructureRef": named}
    machine = api.create(
        MACHINE, {"metadata": {"name": name, "ownerReferences": owners}, "spec": spec}, NAMESPACE
    )
    bearer = {
        "name": name,
        "annotations": {well_known.HOST_OF_MACHINE: f"{NAMESPACE}/{node.name}"},
        "ownerReferences": [owned_by(MACHINE, machine)],
    }
    api.create(METAL3_MACHINE, {"metadata": bearer, "spec": {"providerID": provider}}, NAMESPACE)
    status = {"nodeRef": {"name": node.name}, "nodeInfo": node_info(node.name, node.boot_id)}
    api.patch(MACHINE, name, {"status": status}, at=(NAMESPACE, "status"))
    said = {well_known.MACHINE_OF_NODE: name, well_known.NAMESPACE_OF_CLUSTER: NAMESPACE}
    _name_each_other(api, node, METAL3_MACHINE.kind, name, said)


def _meet_openshift(api: Direct, node: Machine, name: str, owners: list[Object]) -> None:
    annotations = {well_known.HOST_OF_MACHINE: f"{NAMESPACE}/{node.name}"}
    metadata = {"name": name, "annotations": annotations, "ownerReferences": owners}
    api.create(SHIFT_MACHINE, {"metadata": metadata, "spec": {"providerID": node.provider_id}}, NAMESPACE)
    api.patch(SHIFT_MACHINE, name, {"status": {"nodeRef": {"name": node.name}}}, at=(NAMESPACE, "status"))
    said = {well_known.OPENSHIFT_MACHINE_OF_NODE: f"{NAMESPACE}/{name}"}
    _name_each_other(api, node, SHIFT_MACHINE.kind, name, said)


def _name_each_other(api: Direct, node: Machine, kind: str, name: str, said: dict[str, str]) -> None:
    consumer = {"kind": kind, "name": name, "namespace": NAMESPACE}
    api.patch(BARE_METAL_HOST, node.name, {"spec": {"consumerRef": consumer}}, at=(NAMESPACE, ""))
    node.annotations = said
    api.patch(NODE, node.name, {"metadata": {"annotations": said}})
