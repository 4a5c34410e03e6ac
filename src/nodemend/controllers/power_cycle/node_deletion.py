"""The writes of a release by deletion: a Node goes, and another gets what it had."""

from typing import Any

from nodemend.api.group_versions import NODE
from nodemend.api.node import Node, NodeTaint
from nodemend.api.node_deletion import NodeBackup
from nodemend.controllers.remediating.writes import FIELD_MANAGER
from nodemend.decide.facts import Taint
from nodemend.decide.node_backup import keep
from nodemend.decide.power_cycle_steps import Restore
from nodemend.decide.release_gate import ReleaseTicket
from nodemend.kube.api_request import Precondition, Request, as_confirmed, delete, merge_patch


def belongings_of(node: Node) -> NodeBackup:
    """What others have written on it."""
    metadata, spec = node.metadata, node.spec
    taints = (Taint(taint.key, taint.effect, taint.value) for taint in spec.taints)
    return keep(metadata.labels, metadata.annotations, taints, unschedulable=spec.unschedulable)


def delete_node(ticket: ReleaseTicket) -> Request:
    """The very version that the ticket was made on."""
    only_if = Precondition(ticket.node_uid, ticket.node_version)
    return as_confirmed(delete(NODE, ticket.node, only_if=only_if))


def restore_node(node: Node | None, step: Restore) -> Request:
    """Adds, and changes nothing that is there."""
    if node is None:
        raise ValueError("Restore without a Node")
    missing = step.missing
    change: dict[str, Any] = {"metadata": {"labels": missing.labels, "annotations": missing.annotations}}
    spec: dict[str, Any] = {}
    if missing.taints:
        added = (NodeTaint(key=one.key, effect=one.effect, value=one.value) for one in missing.taints)
        spec["taints"] = [*node.spec.taints, *added]
    if missing.unschedulable:
        spec["unschedulable"] = True
    if spec:
        change["spec"] = spec
    only_if = Precondition(step.node.uid, step.node.version)
    return merge_patch(NODE, node.metadata.name, change=change, only_if=only_if, manager=FIELD_MANAGER)
