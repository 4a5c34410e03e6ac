"""The writes of a machine health check: mark a machine, create a remediation, delete a machine, report."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import REMEDIATION_POLICY
from nodemend.api.machine_health_check import CLUSTER_LABEL
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.kube.api_request import Precondition, Request, apply, create, delete, merge_patch
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import MachineRecord

FIELD_MANAGER: Final = "nodemend-checker"
HISTORY_MANAGER: Final = "nodemend-checker-machines"
_CLONED_FROM_NAME: Final = "cluster.x-k8s.io/cloned-from-name"
_CLONED_FROM_KIND: Final = "cluster.x-k8s.io/cloned-from-groupkind"


def create_remediation(target: Target, kind: RemedyKind, template: Mapping[str, Any]) -> Request:
    """Named like the machine, beside it, owned by it, and gone with it.

    `template` is the template's own spec.template: its labels and annotations are taken over with its spec.
    """
    machine, check = target.machine, target.check
    resource, source = kind.remediation, check.rules.template
    meta = template.get("metadata") or {}
    labels = {keys.CHECK: check.name}
    if machine.cluster:
        labels[CLUSTER_LABEL] = machine.cluster
    annotations = {
        keys.CHECK_UID: check.uid,
        keys.TEMPLATE: source.name if source is not None else "",
        _CLONED_FROM_NAME: source.name if source is not None else "",
        _CLONED_FROM_KIND: f"{kind.template.kind}.{kind.template.group}",
    }
    owner = {
        "apiVersion": machine.resource.api_version,
        "kind": machine.resource.kind,
        "name": machine.name,
        "uid": machine.uid,
    }
    metadata = {
        "name": machine.name,
        "labels": {**(meta.get("labels") or {}), **labels},
        "annotations": {**(meta.get("annotations") or {}), **annotations},
        "ownerReferences": [owner],
    }
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }
    return create(resource, body, machine.namespace, manager=FIELD_MANAGER)


def write_conditions(
    machine: MachineRecord, version: str, conditions: Sequence[Mapping[str, Any]]
) -> Request:
    """All conditions of a machine, in the very version that they were read in."""
    return merge_patch(
        machine.resource,
        machine.name,
        machine.namespace,
        change={"status": {"conditions": conditions}},
        only_if=Precondition(machine.uid, version),
        manager=FIELD_MANAGER,
        subresource="status",
    )


def clear_annotation(machine: MachineRecord, version: str) -> Request:
    """Take off what asked for its remediation, in the very version in which that was read."""
    return merge_patch(
        machine.resource,
        machine.name,
        machine.namespace,
        change={"metadata": {"annotations": {keys.EXTERNAL_REMEDIATION: None}}},
        only_if=Precondition(machine.uid, version),
        manager=FIELD_MANAGER,
    )


def delete_machine(machine: MachineRecord, version: str) -> Request:
    only_if = Precondition(machine.uid, version)
    return delete(machine.resource, machine.name, machine.namespace, only_if=only_if)


def report_history(policy: RemediationPolicy, history: Sequence[MachineRemediation]) -> Request:
    """Under a name of its own: the rest of that status is applied by whoever checks nodes."""
    metadata = policy.metadata
    return apply(
        REMEDIATION_POLICY,
        metadata.name,
        fields={
            "metadata": {"name": metadata.name, "uid": metadata.uid},
            "status": {"machineHistory": msgspec.to_builtins(history)},
        },
        manager=HISTORY_MANAGER,
        subresource="status",
    )


def report_status(check: MachineCheckRecord, status: Mapping[str, Any]) -> Request:
    return merge_patch(
        check.resource,
        check.name,
        check.namespace,
        change={"status": status},
        only_if=Precondition(check.uid, check.version),
        manager=FIELD_MANAGER,
        subresource="status",
    )
