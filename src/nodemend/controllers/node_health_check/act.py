"""The writes of a health check: create a remediation, delete it, report."""

from collections.abc import Mapping
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import (
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    Resource,
)
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.controllers.node_health_check.gather import Target
from nodemend.kube.api_request import Precondition, Request, apply, create, delete

FIELD_MANAGER: Final = "nodemend-checker"


def create_remediation(
    target: Target,
    kind: RemedyKind,
    template: TemplateReference,
    spec: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> Request:
    """Named like the node and owned by it; it says which check asked, and from which template it was made."""
    resource, name = kind.remediation, target.node.name
    owner = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": name, "uid": target.node.uid}
    metadata = {
        "name": name,
        "labels": {keys.CHECK: target.check.metadata.name},
        "annotations": {
            **annotations,
            keys.CHECK_UID: target.check.metadata.uid,
            keys.TEMPLATE: template.name,
        },
        "ownerReferences": [owner],
    }
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
    return create(resource, body, template.namespace, manager=FIELD_MANAGER)


def end_order(order: RemediationOrder) -> Request:
    metadata = order.metadata
    only_if = Precondition(metadata.uid, metadata.resource_version)
    return delete(REMEDIATION_ORDER, metadata.name, only_if=only_if)


def report_policy(policy: RemediationPolicy, status: Mapping[str, Any]) -> Request:
    return _applied(REMEDIATION_POLICY, policy.metadata, status)


def report_status(check: NodeHealthCheck, status: Mapping[str, Any]) -> Request:
    """Only over the very version that it was made from: which recoveries are owed stands there alone."""
    return _applied(
        NODE_HEALTH_CHECK, check.metadata, status, resourceVersion=check.metadata.resource_version
    )


def _applied(resource: Resource, of: ObjectMeta, status: Mapping[str, Any], **only_if: str) -> Request:
    """The status is ours whole, so it is applied: a field that we stop naming goes."""
    return apply(
        resource,
        of.name,
        fields={"metadata": {"name": of.name, "uid": of.uid, **only_if}, "status": status},
        manager=FIELD_MANAGER,
        subresource="status",
    )
