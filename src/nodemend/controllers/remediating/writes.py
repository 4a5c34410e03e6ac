"""The steps that all remediations share, each as the one write that it is."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, NODE, Resource
from nodemend.api.lease import Lease
from nodemend.api.node import Node, NodeTaint
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.remediating.locks import lock_name
from nodemend.decide import remediation_steps as steps
from nodemend.decide.facts import Taint
from nodemend.decide.remediation_life import OUR_TAINT
from nodemend.kube.api_request import Precondition, Request, as_confirmed, create, delete, merge_patch

FIELD_MANAGER: Final = "nodemend-remediator"

MetaStep = steps.AddFinalizer | steps.DropFinalizer
LockStep = steps.TakeLock | steps.DropLock
NodeStep = steps.Release | steps.Untaint | steps.VoidOnNode | steps.ClearVoidMark


def write_status(resource: Resource, metadata: ObjectMeta, old: Wire, new: Wire) -> Request:
    """The whole status, under the version that was read: every phase change is a compare-and-swap.

    By its epoch a leader answers for all that it found there, and later leaders believe it. So it first makes
    sure that it still leads: what it found may be out of a backup of etcd.
    """
    before, wanted = msgspec.to_builtins(old), msgspec.to_builtins(new)
    # As a merge patch: fields that went back to their default are named as null.
    difference = {**dict.fromkeys(before.keys() - wanted.keys()), **wanted}
    write = merge_patch(
        resource,
        metadata.name,
        metadata.namespace,
        change={"status": difference},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=FIELD_MANAGER,
        subresource="status",
    )
    return as_confirmed(write) if before.get("epoch") != wanted.get("epoch") else write


def write_finalizer(resource: Resource, metadata: ObjectMeta, step: MetaStep) -> Request:
    others = [name for name in metadata.finalizers if name != keys.SAFE_END]
    wanted = [*others, keys.SAFE_END] if isinstance(step, steps.AddFinalizer) else others
    return merge_patch(
        resource,
        metadata.name,
        metadata.namespace,
        change={"metadata": {"finalizers": wanted}},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=FIELD_MANAGER,
    )


def drop_lock(lock: Lease | None) -> Request:
    if lock is None:
        raise ValueError("there is no lock to drop")
    metadata = lock.metadata
    only_if = Precondition(metadata.uid, metadata.resource_version)
    return delete(LEASE, metadata.name, metadata.namespace, only_if=only_if)


def take_lock(resource: Resource, metadata: ObjectMeta, uid: str, lock: Lease | None, place: str) -> Request:
    """Of what has this UID, in the namespace `place`; from its former holder where there is a `lock`."""
    name = lock_name(uid)
    who = f"{resource.kind} {metadata.namespace}/{metadata.name}"
    content = {
        "metadata": {"name": name, "annotations": {keys.HOLDER: who}},
        "spec": {"holderIdentity": metadata.uid},
    }
    if lock is not None:
        only_if = Precondition(lock.metadata.uid, lock.metadata.resource_version)
        return merge_patch(LEASE, name, place, change=content, only_if=only_if, manager=FIELD_MANAGER)
    body = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, **content}
    return create(LEASE, body, place, manager=FIELD_MANAGER)


def write_node(node: Node | None, step: NodeStep) -> Request:
    """The only writes to a Node, each bound to the version that the step was decided on."""
    if node is None:
        raise ValueError(f"{type(step).__name__} without a Node")
    match step:
        case steps.Release(ticket):
            # The ticket, not the object at hand, says which version may be released.
            only_if = Precondition(ticket.node_uid, ticket.node_version)
            ours = NodeTaint(key=OUR_TAINT.key, effect=OUR_TAINT.effect, value=OUR_TAINT.value)
            change = _taints((*node.spec.taints, ours))
        case steps.Untaint(facts, _, mark):
            only_if = Precondition(facts.uid, facts.version)
            voided = {"metadata": {"annotations": {keys.RELEASE_VOIDED: mark}}} if mark else {}
            kept = tuple(taint for taint in node.spec.taints if not _is_ours(taint))
            change = {**_taints(kept), **voided}
        case steps.VoidOnNode(facts, mark):
            only_if = Precondition(facts.uid, facts.version)
            change = {"metadata": {"annotations": {keys.RELEASE_VOIDED: mark}}}
        case steps.ClearVoidMark(facts):
            only_if = Precondition(facts.uid, facts.version)
            change = {"metadata": {"annotations": {keys.RELEASE_VOIDED: None}}}
        case _:
            assert_never(step)
    write = merge_patch(NODE, node.metadata.name, change=change, only_if=only_if, manager=FIELD_MANAGER)
    return as_confirmed(write) if isinstance(step, steps.Release) else write


def _taints(wanted: tuple[NodeTaint, ...]) -> Mapping[str, Any]:
    """The whole list: it is one atomic field with many authors, so it is replaced under its version."""
    return {"spec": {"taints": list(wanted) or None}}


def _is_ours(taint: NodeTaint) -> bool:
    return Taint(taint.key, taint.effect, taint.value) == OUR_TAINT
