"""Which node a remediation is about: it may be named like the node, or belong to the node's Machine."""

from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import Resource
from nodemend.api.machine import Machine
from nodemend.api.node import Node
from nodemend.api.object_meta import ObjectMeta, OwnerReference
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.machine_dialect import CLUSTER_API, OPENSHIFT

_PROJECTS: Final = (CLUSTER_API, OPENSHIFT)


async def named_node(reader: Reader, remediation: ObjectMeta, known: str) -> Seen[Node]:
    """`known` is the name that its status has, once that was settled.

    The Node of a Machine has to name that Machine in turn: one of a workload cluster may have the name of a
    node that is here.
    """
    owner = next((one for one in remediation.owner_references if _is_machine(one)), None)
    if known or owner is None:
        name = known or remediation.annotations.get(keys.NODE_OF_REMEDIATION, remediation.name)
        return await reader.node(name)
    group, _, version = owner.api_version.partition("/")
    resource = Resource(group, version, "Machine", "machines")
    machine = seen(await reader.get(resource, owner.name, Machine, remediation.namespace))
    if not isinstance(machine, Present):
        return machine
    if not machine.value.node:
        return Absent()
    node = await reader.node(machine.value.node)
    if isinstance(node, Present) and not _names(node.value, owner.name, remediation.namespace):
        why = f"the Node {machine.value.node} does not say that it is of the Machine {owner.name}"
        return Unreadable(f"{why}; it may be another cluster's")
    return node


def _is_machine(owner: OwnerReference) -> bool:
    return owner.kind == "Machine" and owner.api_version.partition("/")[0] in _PROJECTS


def _names(node: Node, machine: str, namespace: str) -> bool:
    said = node.metadata.annotations
    of_cluster_api = (said.get(keys.NAMESPACE_OF_CLUSTER), said.get(keys.MACHINE_OF_NODE))
    of_openshift = said.get(keys.OPENSHIFT_MACHINE_OF_NODE)
    return of_cluster_api == (namespace, machine) or of_openshift == f"{namespace}/{machine}"
