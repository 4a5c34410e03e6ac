"""The writes of a health check: create a remediation, delete it, report."""

from collections.abc import Mapping
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    MANUAL_REMEDIATION_TEMPLATE,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_POLICY,
    Resource,
)
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.node_health_check.gather import Target, remediation_key
from nodemend.kube.api_request import Precondition, Request, apply, create, delete

FIELD_MANAGER: Final = "nodemend-checker"

REMEDIES: Final[Mapping[tuple[str, str], tuple[Resource, Resource]]] = {
    (MANUAL_REMEDIATION_TEMPLATE.api_version, MANUAL_REMEDIATION_TEMPLATE.kind): (
        MANUAL_REMEDIATION_TEMPLATE,
        MANUAL_REMEDIATION,
    ),
}
"""From the kind of a template to where it and its remediations live. What is not here is not created."""


def remedy_of(template: TemplateReference) -> tuple[Resource, Resource] | None:
    return REMEDIES.get((template.api_version, template.kind))


def create_remediation(target: Target, resource: Resource, spec: Mapping[str, Any]) -> Request:
    """Named like the node and owned by it; it says which check asked."""
    namespace, name = remediation_key(target)
    owner = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": name, "uid": target.node.uid}
    metadata = {
        "name": name,
        "labels": {keys.CHECK: target.check.metadata.name},
        "annotations": {keys.CHECK_UID: target.check.metadata.uid},
        "ownerReferences": [owner],
    }
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
    return create(resource, body, namespace, manager=FIELD_MANAGER)


def withdraw_remediation(remediation: ManualRemediation) -> Request:
    metadata = remediation.metadata
    only_if = Precondition(metadata.uid, metadata.resource_version)
    return delete(MANUAL_REMEDIATION, metadata.name, metadata.namespace, only_if=only_if)


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
