"""Nodes and caches to start a test from."""

from collections.abc import Mapping

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.remedies import Remedies
from nodemend.controllers.node_health_check.gather import View
from nodemend.kube.node_record import NOBODY, NodeCondition, NodeRecord
from nodemend.kube.object_cache import ObjectCache


def a_node(
    name: str,
    labels: Mapping[str, str] | None = None,
    annotations: tuple[tuple[str, str], ...] = (),
    **conditions: str,
) -> NodeRecord:
    labels = labels or {}
    return NodeRecord(
        **{field: getattr(NOBODY, field) for field in NodeRecord.__struct_fields__}
        | {
            "name": name,
            "uid": f"uid-{name}",
            "label_keys": tuple(labels),
            "label_values": tuple(labels.values()),
            "annotations": annotations,
            "conditions": tuple(NodeCondition(type_, status) for type_, status in conditions.items()),
        }
    )


def a_view(*, nodes: tuple[NodeRecord, ...] = (), policy: RemediationPolicy | None = None) -> View:
    """Caches that were complete at moment 0."""
    view = View(
        nodes=ObjectCache(lambda node: node.uid),
        checks=ObjectCache(lambda check: check.metadata.uid),
        remedies=Remedies(),
        policies=ObjectCache(lambda found: found.metadata.uid),
        orders=ObjectCache(lambda order: order.metadata.uid),
    )
    view.nodes.replace({node.name: node for node in nodes}, [])
    view.policies.replace({"cluster": policy} if policy else {}, [])
    view.remedies.add(MANUAL_REMEDIATION, [], 0.0)
    for cache in (view.nodes, view.checks, view.policies, view.orders):
        cache.synced_at = cache.last_contact = 0.0
    return view
