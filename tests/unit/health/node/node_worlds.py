"""Nodes and caches to start a test from."""

from collections.abc import Mapping

from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.health.node.targets import NodeView
from nodemend.health.remediation_index import RemediationIndex
from nodemend.kube.store import Store
from nodemend.records.node import NO_NODE, NodeConditionRecord, NodeRecord


def a_node(
    name: str,
    labels: Mapping[str, str] | None = None,
    annotations: tuple[tuple[str, str], ...] = (),
    **conditions: str,
) -> NodeRecord:
    labels = labels or {}
    return NodeRecord(
        **{field: getattr(NO_NODE, field) for field in NodeRecord.__struct_fields__}
        | {
            "name": name,
            "uid": f"uid-{name}",
            "label_keys": tuple(labels),
            "label_values": tuple(labels.values()),
            "annotations": annotations,
            "conditions": tuple(NodeConditionRecord(type_, status) for type_, status in conditions.items()),
        }
    )


def a_view(*, nodes: tuple[NodeRecord, ...] = (), policy: RemediationPolicy | None = None) -> NodeView:
    """Caches that were complete at moment 0."""
    view = NodeView(
        nodes=Store(lambda node: node.uid),
        checks=Store(lambda check: check.metadata.uid),
        remedies=RemediationIndex(),
        policies=Store(lambda found: found.metadata.uid),
        orders=Store(lambda order: order.metadata.uid),
    )
    view.nodes.replace({node.name: node for node in nodes}, [])
    view.policies.replace({"cluster": policy} if policy else {}, [])
    view.remedies.add(MANUAL_REMEDIATION, [], 0.0)
    for cache in (view.nodes, view.checks, view.policies, view.orders):
        cache.synced_at = cache.last_contact = 0.0
    return view
