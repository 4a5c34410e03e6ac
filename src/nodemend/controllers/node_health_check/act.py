"""The writes of a health check: create a remediation, delete it, report."""

from collections.abc import Mapping
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.controllers.node_health_check.gather import Target
from nodemend.kube.api_request import Request, apply, create

FIELD_MANAGER: Final = "nodemend-checker"


def create_remediation(target: Target, kind: RemedyKind, index: int, spec: Mapping[str, Any]) -> Request:
    """Named like the node and owned by it; it says which check asked, and which of its remedies this is."""
    resource, name = kind.remediation, target.node.name
    owner = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": name, "uid": target.node.uid}
    remedy = target.check.spec.remedies[index].template
    metadata = {
        "name": name,
        "labels": {keys.CHECK: target.check.metadata.name},
        "annotations": {keys.CHECK_UID: target.check.metadata.uid, keys.TEMPLATE: remedy.name},
        "ownerReferences": [owner],
    }
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
    return create(resource, body, remedy.namespace, manager=FIELD_MANAGER)


def report_policy(policy: RemediationPolicy, status: Mapping[str, Any]) -> Request:
    return _applied(REMEDIATION_POLICY, policy.metadata, status)


def report_status(check: NodeHealthCheck, status: Mapping[str, Any]) -> Request:
    return _applied(NODE_HEALTH_CHECK, check.metadata, status)


def _applied(resource: Resource, of: ObjectMeta, status: Mapping[str, Any]) -> Request:
    """The status is ours whole, so it is applied: a field that we stop naming goes."""
    return apply(
        resource,
        of.name,
        fields={"metadata": {"name": of.name, "uid": of.uid}, "status": status},
        manager=FIELD_MANAGER,
        subresource="status",
    )
