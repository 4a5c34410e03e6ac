"""Which node a remediation is about: it may be named like the node, or belong to the node's Machine."""

from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import Resource
from nodemend.api.machine import Machine
from nodemend.api.node import Node
from nodemend.api.object_meta import ObjectMeta, OwnerReference
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.host_identity import (
    MachineClues,
    Matched,
    Mismatch,
    NodeClues,
    Unproven,
    identify_node,
)
from nodemend.kube.machine_dialect import CLUSTER_API, OPENSHIFT

_PROJECTS: Final = (CLUSTER_API, OPENSHIFT)


async def named_node(reader: Reader, remediation: ObjectMeta, known: str) -> Seen[Node]:
    """`known` is the name that its status has, once that was settled.

    The Node of a Machine has to be that Machine's by what both state: one of a workload cluster may have the
    name of a node that is here.
    """
    owner = next((one for one in remediation.owner_references if is_machine(one)), None)
    if known or owner is None:
        name = known or remediation.annotations.get(keys.NODE_OF_REMEDIATION, remediation.name)
        return await reader.node(name)
    group, _, version = owner.api_version.partition("/")
    resource = Resource(group, version, "Machine", "machines")
    machine = seen(await reader.get(resource, owner.name, Machine, remediation.namespace))
    if not isinstance(machine, Present):
        return machine
    if machine.value.metadata.uid != owner.uid or not machine.value.node:
        return Absent()
    node = await reader.node(machine.value.node)
    if not isinstance(node, Present):
        return node
    match identify_node(node_clues(node.value, group), machine_clues(machine.value, group)):
        case Matched():
            return node
        case Unproven(missing):
            return Unreadable(missing)
        case Mismatch(what, said, actual):
            return Unreadable(f"{what} is given as {said}, but it is {actual}")


def is_machine(owner: OwnerReference) -> bool:
    return owner.kind == "Machine" and owner.api_version.partition("/")[0] in _PROJECTS


def node_clues(node: Node, group: str = CLUSTER_API) -> NodeClues:
    """`group` is that of the Machine which it is compared with."""
    said = node.metadata.annotations
    namespace, name = said.get(keys.NAMESPACE_OF_CLUSTER, ""), said.get(keys.MACHINE_OF_NODE, "")
    of_cluster_api = f"{namespace}/{name}" if namespace and name else ""
    of_openshift = said.get(keys.OPENSHIFT_MACHINE_OF_NODE, "")
    return NodeClues(
        name=node.metadata.name,
        provider_id=node.spec.provider_id,
        system_uuid=node.status.node_info.system_uuid,
        machine=of_openshift if group == OPENSHIFT else of_cluster_api,
    )


def machine_clues(machine: Machine, group: str) -> MachineClues:
    """Without what its Metal3Machine states."""
    metadata = machine.metadata
    return MachineClues(
        name=f"{metadata.namespace}/{metadata.name}",
        uid=metadata.uid,
        node=machine.node,
        provider_ids=(machine.spec.provider_id,),
        system_uuid=machine.system_uuid,
        of_this_cluster=group == OPENSHIFT,
    )
