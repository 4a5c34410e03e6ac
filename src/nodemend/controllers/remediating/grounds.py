"""Why a node is remediated, by what stands on its remediation. The check that it names is read afresh."""

import re
from collections.abc import Iterable
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import NODE_HEALTH_CHECK, Resource
from nodemend.api.machine import Machine
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.object_meta import ObjectMeta, OwnerReference
from nodemend.controllers.checking.node_checks import meets_threshold
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.remediating.node_names import is_machine
from nodemend.decide.facts import Absent, Present, Seen
from nodemend.decide.label_match import matches
from nodemend.decide.switch_guard import Grounds
from nodemend.kube.machine_check_record import MachineCheckWire
from nodemend.kube.machine_dialect import CLUSTER_API
from nodemend.kube.machine_rules_reading import read_rules

_VERSION: Final = re.compile(r"v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?")


async def grounds_of(
    reader: Reader, remediation: ObjectMeta, node: Node | None, *, drills: bool = False
) -> Grounds:
    """`drills`: whether a remediation of its kind may be one. Without a `node` nothing can agree on it."""
    annotations = remediation.annotations
    ordered = keys.ORDER in annotations
    return Grounds(
        check_agrees=await _check_agrees(reader, remediation, node) if node is not None else Absent(),
        ordered=ordered,
        past_guard=ordered and keys.PAST_GUARD in annotations,
        drill=drills and keys.DRILL in annotations,
    )


async def _check_agrees(reader: Reader, remediation: ObjectMeta, node: Node) -> Seen[bool]:
    """Absent where it names no check, or one that is gone."""
    name, uid = remediation.labels.get(keys.CHECK, ""), remediation.annotations.get(keys.CHECK_UID, "")
    if not name or not uid:
        return Absent()
    owner = next((one for one in remediation.owner_references if is_machine(one)), None)
    if owner is not None:
        return await _machine_check_agrees(reader, remediation, owner, node)
    check = seen(await reader.get(NODE_HEALTH_CHECK, name, NodeHealthCheck))
    if not isinstance(check, Present):
        return check
    if check.value.metadata.uid != uid:
        return Absent()
    # A check speaks of the nodes that it selects: nobody borrows its thresholds for another.
    selects = matches(check.value.spec.selector, node.metadata.labels)
    return Present(selects and meets_threshold(check.value, node.status.conditions))


async def _machine_check_agrees(
    reader: Reader, remediation: ObjectMeta, owner: OwnerReference, node: Node
) -> Seen[bool]:
    group, _, version = owner.api_version.partition("/")
    if not _VERSION.fullmatch(version):
        return Absent()
    checks = Resource(group, version, "MachineHealthCheck", "machinehealthchecks")
    machines = Resource(group, version, "Machine", "machines")
    name, namespace = remediation.labels[keys.CHECK], remediation.namespace
    check = seen(await reader.get(checks, name, MachineCheckWire, namespace))
    if not isinstance(check, Present):
        return check
    if check.value.metadata.uid != remediation.annotations[keys.CHECK_UID]:
        return Absent()
    machine = seen(await reader.get(machines, owner.name, Machine, namespace))
    if not isinstance(machine, Present):
        return machine
    if machine.value.metadata.uid != owner.uid:
        return Absent()
    rules = read_rules(check.value.spec, namespace, check.value.metadata.annotations)
    cluster, labels = machine.value.spec.cluster_name, machine.value.metadata.labels
    selects = rules.selects(cluster, labels, all_without_demand=group != CLUSTER_API)
    return Present(selects and _shows(node, ((one.type, one.status) for one in rules.of_node)))


def _shows(node: Node, any_of: Iterable[tuple[str, str]]) -> bool:
    shown = {(one.type, one.status) for one in node.status.conditions}
    return any((type_, str(status)) in shown for type_, status in any_of)
