"""Machines of Cluster API and OpenShift for the hosts of a simulated cluster, and their mutual references."""

from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, NODE, Resource
from nodemend.records.machine import CLUSTER_API, OPENSHIFT
from simulation.cluster.direct import Direct, Object
from simulation.cluster.machines import Machine, node_info
from simulation.cluster.world import World
from simulation.metal3.furnishing import NEWER_FORM, machine_of
from simulation.metal3.rack import NAMESPACE

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
