"""A cluster whose nodes are hosts of metal3, healed by power cycles."""

from collections.abc import Mapping
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION_TEMPLATE, NODE
from nodemend.testing.api_server.admission import User
from nodemend.testing.cluster.foreign_kinds import a_definition
from nodemend.testing.cluster.world import Account, Shape, World
from nodemend.testing.metal3.names import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from nodemend.testing.metal3.rack import NAMESPACE, Rack

TEMPLATE: Final = "switch-it"
DEFINITIONS: Final = tuple(map(a_definition, (BARE_METAL_HOST, HOST_UPDATE_POLICY, HOST_FIRMWARE_SETTINGS)))
CROSSED: Final = {"node-1": "node-2", "node-2": "node-1"}
SPEC: Final = {
    "strategy": "retry",
    "powerOffTimeoutSeconds": 300,
    "powerOnTimeoutSeconds": 120,
}

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


def shaped(**wishes: Any) -> Shape:
    """A world in which nobody is called and hosts are switched."""
    return Shape(
        people=False, power_cycle=True, definitions=DEFINITIONS, check={"remedies": REMEDIES}, **wishes
    )


def furnish(world: World, spec: Mapping[str, Any] = SPEC, *, crossed: bool = False) -> Rack:
    """The template, and a host for every machine, which its node's provider ID names.

    `crossed`: two BMCs were mixed up. What tells is the system UUID that somebody wrote on each host.
    """
    template = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": dict(spec)}}}
    world.admin_api.create(METAL3_REMEDIATION_TEMPLATE, template, keys.SYSTEM_NAMESPACE)
    account = Account(world.server, User("system:serviceaccount:metal3:baremetal-operator"))
    rack = Rack(world.scheduler, world.machines, account)
    behind = {**CROSSED} if crossed else {}
    rack.enrol(world.admin_api, crossed=behind)
    for name in world.machines:
        world.admin_api.patch(NODE, name, {"spec": {"providerID": f"metal3://{NAMESPACE}/{name}/{name}"}})
        told = {"metadata": {"annotations": {keys.HOST_SYSTEM_UUID: behind.get(name, name)}}}
        world.admin_api.patch(BARE_METAL_HOST, name, told, at=(NAMESPACE, ""))
    return rack
