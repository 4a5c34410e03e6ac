"""A cluster whose nodes are metal3 hosts, healed by power cycles."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION_TEMPLATE, NODE, Resource
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.machines import system_uuid
from simulation.cluster.world import Shape, World
from simulation.metal3.names import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.rack import NAMESPACE, Rack

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
