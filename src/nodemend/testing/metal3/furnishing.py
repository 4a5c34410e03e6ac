"""A cluster whose nodes are hosts of metal3, healed by power cycles."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION_TEMPLATE, NODE, Resource
from nodemend.testing.cluster.foreign_kinds import a_definition
from nodemend.testing.cluster.machines import system_uuid
from nodemend.testing.cluster.world import Shape, World
from nodemend.testing.metal3.names import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from nodemend.testing.metal3.rack import NAMESPACE, Rack

TEMPLATE: Final = "switch-it"
OPERATOR: Final = "system:serviceaccount:metal3:baremetal-operator"
KINDS: Final = (BARE_METAL_HOST, HOST_UPDATE_POLICY, HOST_FIRMWARE_SETTINGS)
CROSSED: Final = {"node-1": "node-2", "node-2": "node-1"}
NEWER_FORM: Final = "metal3://{namespace}/{host}/{machine}"
"""How a node's provider ID names its host."""
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
            "namespace": keys.SYSTEM_NAMESPACE,
        }
    }
]


def shaped(*, others: Iterable[Resource] = (), **wishes: Any) -> Shape:
    """A world in which nobody is called and hosts are switched. `others` are kinds beside those of hosts."""
    definitions = tuple(map(a_definition, (*KINDS, *others)))
    return Shape(
        people=False, power_cycle=True, definitions=definitions, check={"remedies": REMEDIES}, **wishes
    )


def furnish(
    world: World,
    spec: Mapping[str, Any] = SPEC,
    *,
    crossed: bool = False,
    deployed: bool = False,
    provider_id: str = NEWER_FORM,
) -> Rack:
    """The template, and a host for every machine, which its node's provider ID names.

    `deployed`: what runs on them came from metal3 itself. `crossed`: two BMCs were mixed up. What tells is
    the system UUID that somebody wrote on each host.
    """
    template = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": dict(spec)}}}
    world.admin_api.create(METAL3_REMEDIATION_TEMPLATE, template, keys.SYSTEM_NAMESPACE)
    rack = Rack(world.scheduler, world.machines, world.account(OPERATOR))
    behind = {**CROSSED} if crossed else {}
    rack.enrol(world.admin_api, deployed=deployed, crossed=behind)
    for name, switched in world.machines.items():
        uuid = system_uuid(behind.get(name, name))
        told = {"metadata": {"annotations": {keys.HOST_SYSTEM_UUID: uuid}}}
        host = world.admin_api.patch(BARE_METAL_HOST, name, told, at=(NAMESPACE, "")) or {}
        uid, machine = host["metadata"]["uid"], machine_of(name)
        said = provider_id.format(namespace=NAMESPACE, host=name, machine=machine, uid=uid)
        switched.provider_id = said
        if said:
            world.admin_api.patch(NODE, name, {"spec": {"providerID": said}})
    return rack


def machine_of(node: str) -> str:
    """The name of its Machine, where there are such."""
    return node.replace("node", "m")
