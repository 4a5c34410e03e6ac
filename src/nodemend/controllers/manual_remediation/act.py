"""Each step as the one write that it is."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, NODE
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationStatus
from nodemend.api.node import Node, NodeTaint
from nodemend.controllers.manual_remediation.gather import Gathered, lock_name
from nodemend.decide import manual_remediation_steps as steps
from nodemend.decide.facts import Taint
from nodemend.decide.manual_remediation import OUR_TAINT
from nodemend.decide.manual_remediation_status import StatusStep, after
from nodemend.kube.api_request import Precondition, Request, create, delete, merge_patch

FIELD_MANAGER: Final = "nodemend-remediator"

MetaStep = steps.AddFinalizer | steps.DropFinalizer
LockStep = steps.TakeLock | steps.DropLock
NodeStep = steps.Release | steps.Untaint | steps.VoidOnNode | steps.ClearVoidMark


def write_status(remediation: ManualRemediation, step: StatusStep, *, epoch: int, now: str) -> Request:
    """The whole status, under the version that was read: every phase change is a compare-and-swap."""
    metadata = remediation.metadata
    wanted = after(remediation.status, step, epoch=epoch, generation=metadata.generation, now=now)
    return merge_patch(
        MANUAL_REMEDIATION,
        metadata.name,
        metadata.namespace,
        change={"status": _difference(remediation.status, wanted)},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=FIELD_MANAGER,
        subresource="status",
    )


def write_finalizer(remediation: ManualRemediation, step: MetaStep) -> Request:
    metadata = remediation.metadata
    others = [name for name in metadata.finalizers if name != keys.SAFE_END]
    wanted = [*others, keys.SAFE_END] if isinstance(step, steps.AddFinalizer) else others
    return merge_patch(
        MANUAL_REMEDIATION,
        metadata.name,
        metadata.namespace,
        change={"metadata": {"finalizers": wanted}},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=FIELD_MANAGER,
    )


def write_lock(
    remediation: ManualRemediation, lock: Lease | None, step: LockStep, *, namespace: str
) -> Request:
    name = lock_name(remediation.status.node_uid)
    if isinstance(step, steps.DropLock):
        if lock is None:
            raise ValueError("there is no lock to drop")
        only_if = Precondition(lock.metadata.uid, lock.metadata.resource_version)
        return delete(LEASE, name, namespace, only_if=only_if)
    who = f"{MANUAL_REMEDIATION.kind} {remediation.metadata.namespace}/{remediation.metadata.name}"
    metadata = {"name": name, "annotations": {keys.HOLDER: who}}
    content = {"metadata": metadata, "spec": {"holderIdentity": remediation.metadata.uid}}
    if lock is not None:
        only_if = Precondition(lock.metadata.uid, lock.metadata.resource_version)
        return merge_patch(LEASE, name, namespace, change=content, only_if=only_if, manager=FIELD_MANAGER)
    body = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, **content}
    return create(LEASE, body, namespace, manager=FIELD_MANAGER)


def write_node(node: Node, step: NodeStep) -> Request:
    """The only writes to a Node, each bound to the version that the step was decided on."""
    match step:
        case steps.Release(ticket):
            # The ticket, not the object at hand, says which version may be released.
            only_if = Precondition(ticket.node_uid, ticket.node_version)
            ours = NodeTaint(key=OUR_TAINT.key, effect=OUR_TAINT.effect, value=OUR_TAINT.value)
            change = _taints((*node.spec.taints, ours))
        case steps.Untaint(facts):
            only_if = Precondition(facts.uid, facts.version)
            change = _taints(tuple(taint for taint in node.spec.taints if not _is_ours(taint)))
        case steps.VoidOnNode(facts, mark):
            only_if = Precondition(facts.uid, facts.version)
            change = {"metadata": {"annotations": {keys.RELEASE_VOIDED: mark}}}
        case steps.ClearVoidMark(facts):
            only_if = Precondition(facts.uid, facts.version)
            change = {"metadata": {"annotations": {keys.RELEASE_VOIDED: None}}}
        case _:
            assert_never(step)
    return merge_patch(NODE, node.metadata.name, change=change, only_if=only_if, manager=FIELD_MANAGER)


def request_for(gathered: Gathered, step: steps.Step, *, namespace: str, now: str) -> Request | None:
    """The write that makes `step` true; None for a step without one."""
    facts = gathered.facts
    match step:
        case steps.AddFinalizer() | steps.DropFinalizer():
            return write_finalizer(facts.remediation, step)
        case steps.TakeLock() | steps.DropLock():
            return write_lock(facts.remediation, gathered.lock, step, namespace=namespace)
        case steps.Release() | steps.Untaint() | steps.VoidOnNode() | steps.ClearVoidMark():
            if gathered.node is None:
                raise ValueError(f"{type(step).__name__} without a Node")
            return write_node(gathered.node, step)
        case steps.Done():
            return None
        case _:
            return write_status(facts.remediation, step, epoch=facts.epoch, now=now)


def _taints(wanted: tuple[NodeTaint, ...]) -> Mapping[str, Any]:
    """The whole list: it is one atomic field with many authors, so it is replaced under its version."""
    return {"spec": {"taints": list(wanted) or None}}


def _is_ours(taint: NodeTaint) -> bool:
    return Taint(taint.key, taint.effect, taint.value) == OUR_TAINT


def _difference(old: ManualRemediationStatus, new: ManualRemediationStatus) -> dict[str, Any]:
    """As a merge patch: fields that went back to their default are named as null."""
    before, wanted = msgspec.to_builtins(old), msgspec.to_builtins(new)
    return {**dict.fromkeys(before.keys() - wanted.keys()), **wanted}
