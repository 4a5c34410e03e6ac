"""Write requests of the steps that all remediations share."""

from collections.abc import Mapping
from typing import Any, Final, assert_never

import msgspec

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta, Wire
from nodemend.api.resources import LEASE, NODE, Resource
from nodemend.api.upstream_types import Lease, Node, NodeTaint
from nodemend.kube.request import Precondition, Request, as_confirmed, create, delete, merge_patch
from nodemend.remediation.locks import lock_name
from nodemend.safety import lifecycle as steps
from nodemend.safety.facts import Taint
from nodemend.safety.lifecycle import OUR_TAINT

FIELD_MANAGER: Final = "nodemend-remediator"

MetaStep = steps.AddFinalizer | steps.DropFinalizer
LockStep = steps.TakeLock | steps.DropLock
NodeStep = steps.Release | steps.Untaint | steps.RevokeRelease | steps.ClearRevocation


def write_status(resource: Resource, metadata: ObjectMeta, old: Wire, new: Wire) -> Request:
    """Return a write of the whole status, bound to its version: every phase change is compare-and-swap.

    A leader that writes its epoch certifies all that it found in the status, and later leaders trust it. So
    such a write is sent only after one more renewal of the leader's Lease: the status may come from an etcd
    backup.
    """
    before, wanted = msgspec.to_builtins(old), msgspec.to_builtins(new)
    # In a merge patch, null resets a field to its default.
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
    others = [name for name in metadata.finalizers if name != well_known.SAFE_END]
    wanted = [*others, well_known.SAFE_END] if isinstance(step, steps.AddFinalizer) else others
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
    """Return the write that takes the lock of the object `uid`, in namespace `place`.

    If `lock` exists, it is taken over from its former holder.
    """
    name = lock_name(uid)
    who = f"{resource.kind} {metadata.namespace}/{metadata.name}"
    content = {
        "metadata": {"name": name, "annotations": {well_known.HOLDER: who}},
        "spec": {"holderIdentity": metadata.uid},
    }
    if lock is not None:
        only_if = Precondition(lock.metadata.uid, lock.metadata.resource_version)
        return merge_patch(LEASE, name, place, change=content, only_if=only_if, manager=FIELD_MANAGER)
    body = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, **content}
    return create(LEASE, body, place, manager=FIELD_MANAGER)


def write_node(node: Node | None, step: NodeStep) -> Request:
    """Return a taint or annotation write to the Node, bound to the version the step was decided on."""
    if node is None:
        raise ValueError(f"{step.step} without a Node")
    match step:
        case steps.Release(ticket):
            # Only the version in the ticket may be released, not that of the object read now.
            only_if = Precondition(ticket.node_uid, ticket.node_version)
            ours = NodeTaint(key=OUR_TAINT.key, effect=OUR_TAINT.effect, value=OUR_TAINT.value)
            change = _taints((*node.spec.taints, ours))
        case steps.Untaint(facts, _, mark):
            only_if = Precondition(facts.uid, facts.version)
            revoked = {"metadata": {"annotations": {well_known.RELEASE_REVOKED: mark}}} if mark else {}
            kept = tuple(taint for taint in node.spec.taints if not _is_ours(taint))
            change = {**_taints(kept), **revoked}
        case steps.RevokeRelease(facts, mark):
            only_if = Precondition(facts.uid, facts.version)
            change = {"metadata": {"annotations": {well_known.RELEASE_REVOKED: mark}}}
        case steps.ClearRevocation(facts):
            only_if = Precondition(facts.uid, facts.version)
            change = {"metadata": {"annotations": {well_known.RELEASE_REVOKED: None}}}
        case _:
            assert_never(step)
    write = merge_patch(NODE, node.metadata.name, change=change, only_if=only_if, manager=FIELD_MANAGER)
    return as_confirmed(write) if isinstance(step, steps.Release) else write


def _taints(wanted: tuple[NodeTaint, ...]) -> Mapping[str, Any]:
    """Replace the whole list under its version: it is one atomic field with many writers."""
    return {"spec": {"taints": list(wanted) or None}}


def _is_ours(taint: NodeTaint) -> bool:
    return Taint(taint.key, taint.effect, taint.value) == OUR_TAINT
