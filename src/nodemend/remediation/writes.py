"""Write requests that all remediations share, and the lock of a node.

The lock is a Lease named after the Node's UID, held by the node's active remediation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, assert_never

import msgspec

from nodemend.api import well_known
from nodemend.api.meta import KubernetesObject, ObjectMeta, Wire
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.api.upstream_types import Lease, Node, NodeTaint
from nodemend.kube.client import ApiClient, list_all
from nodemend.kube.outcome import Acknowledged, Ok
from nodemend.kube.request import (
    Precondition,
    Request,
    Selection,
    as_confirmed,
    create,
    delete_as_read,
    merge_patch,
    patch_as_read,
)
from nodemend.records.live_reads import WRITE_WITHIN, LiveReader
from nodemend.remediation.status import SharedStep
from nodemend.safety import lifecycle as steps
from nodemend.safety.facts import Absent, Present, ReadResult, Taint
from nodemend.safety.lifecycle import OUR_TAINT, LifeFacts, LockHolder

LOCK_PREFIX: Final = "node-"


SWEEP_EVERY: Final = 60.0


_HOLDERS: Final = {
    resource.kind: resource for resource in (MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)
}


def lock_name(uid: str) -> str:
    return f"{LOCK_PREFIX}{uid}"


async def read_lock(reader: LiveReader, namespace: str, uid: str) -> ReadResult[Lease]:
    """Read the lock of the object with this UID; Absent if the UID is empty."""
    if not uid:
        return Absent()
    return await reader.read(LEASE, lock_name(uid), Lease, namespace)


async def held_by(
    reader: LiveReader, lock: ReadResult[Lease], remediation: ObjectMeta
) -> ReadResult[LockHolder]:
    if not isinstance(lock, Present):
        return lock
    uid = lock.value.spec.holder_identity or ""
    who = lock.value.metadata.annotations.get(well_known.HOLDER, "")
    if uid == remediation.uid:
        return Present(LockHolder(ours=True, holder=who))
    gone = await is_orphaned(reader, lock.value)
    return Present(LockHolder(ours=False, holder=who or uid, orphaned=gone))


def is_ours(lock: ReadResult[LockHolder]) -> bool:
    return isinstance(lock, Present) and lock.value.ours


async def is_orphaned(reader: LiveReader, lock: Lease) -> bool:
    """Return whether the lock is certainly unheld: it names no remediation, or one that is deleted.

    Nodemend never writes a lock without a holder. A lock with an unknown kind is kept: it may belong to a
    later version.
    """
    kind, _, address = lock.metadata.annotations.get(well_known.HOLDER, "").partition(" ")
    namespace, _, name = address.partition("/")
    if not (kind and namespace and name):
        return True
    resource = _HOLDERS.get(kind)
    if resource is None:
        return False
    found = await reader.read(resource, name, KubernetesObject, namespace)
    holder = lock.spec.holder_identity or ""
    return isinstance(found, Absent) or (isinstance(found, Present) and found.value.metadata.uid != holder)


class LockSweep:
    """Deletes locks whose holder is gone: a write that timed out may be applied late.

    Serves one leader term. `client` must refuse writes after the term ends.
    """

    def __init__(self, reader: LiveReader, client: ApiClient, system_namespace: str) -> None:
        self._reader = reader
        self._client = client
        self._namespace = system_namespace

    async def run(self) -> None:
        """Sweep until cancelled. A failed read or write is retried in the next sweep."""
        while True:
            await self._reader.runtime.sleep(SWEEP_EVERY)
            await self.sweep()

    async def sweep(self) -> None:
        of = Selection(namespace=self._namespace)
        listed = await list_all(self._client, LEASE, Lease, of=of, deadline=self._reader.deadline)
        for lease in listed.value if isinstance(listed, Ok) else ():
            if lease.metadata.name.startswith(LOCK_PREFIX) and await is_orphaned(self._reader, lease):
                deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
                await self._client.write(drop_lock(lease), Acknowledged, deadline=deadline)


FIELD_MANAGER: Final = "nodemend-remediator"

MetaStep = steps.AddFinalizer | steps.DropFinalizer
NodeStep = steps.Release | steps.RemoveTaint | steps.RevokeRelease | steps.ClearRevocation

F_co = TypeVar("F_co", bound=LifeFacts, covariant=True)


@dataclass(frozen=True, slots=True)
class Inputs(Generic[F_co]):
    """The facts, and the objects whose versions the writes will name."""

    facts: F_co
    node: Node | None
    lock: Lease | None


def write_shared(
    resource: Resource, inputs: Inputs[LifeFacts], step: SharedStep, lock_of: str, system_namespace: str
) -> Request | None:
    """Return the write of a step that every kind has; None for one without a write.

    `lock_of` is the UID that the lock is named after.
    """
    metadata = inputs.facts.remediation.metadata
    match step:
        case steps.AddFinalizer() | steps.DropFinalizer():
            return write_finalizer(resource, metadata, step)
        case steps.TakeLock():
            return take_lock(resource, metadata, lock_of, inputs.lock, system_namespace)
        case steps.DropLock():
            return drop_lock(inputs.lock)
        case steps.NothingLeft():
            return None
        case _:
            return write_node(inputs.node, step)


def write_status(resource: Resource, metadata: ObjectMeta, old: Wire, new: Wire) -> Request:
    """Return a write of the whole status, bound to its version: every phase change is compare-and-swap.

    A leader that writes its epoch certifies all that it found in the status, and later leaders trust it. So
    such a write is sent only after one more renewal of the leader's Lease: the status may come from an etcd
    backup.
    """
    before, wanted = msgspec.to_builtins(old), msgspec.to_builtins(new)
    # In a merge patch, null resets a field to its default.
    difference = {**dict.fromkeys(before.keys() - wanted.keys()), **wanted}
    write = patch_as_read(resource, metadata, {"status": difference}, "status", manager=FIELD_MANAGER)
    return as_confirmed(write) if before.get("epoch") != wanted.get("epoch") else write


def write_finalizer(resource: Resource, metadata: ObjectMeta, step: MetaStep) -> Request:
    others = [name for name in metadata.finalizers if name != well_known.SAFE_END]
    wanted = [*others, well_known.SAFE_END] if isinstance(step, steps.AddFinalizer) else others
    return patch_as_read(resource, metadata, {"metadata": {"finalizers": wanted}}, manager=FIELD_MANAGER)


def drop_lock(lock: Lease | None) -> Request:
    if lock is None:
        raise ValueError("there is no lock to drop")
    return delete_as_read(LEASE, lock.metadata)


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
        return patch_as_read(LEASE, lock.metadata, content, manager=FIELD_MANAGER)
    return create(LEASE, content, place, manager=FIELD_MANAGER)


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
        case steps.RemoveTaint(facts, _, mark):
            only_if = Precondition(facts.uid, facts.version)
            revoked = {"metadata": {"annotations": {well_known.RELEASE_REVOKED: mark}}} if mark else {}
            kept = tuple(taint for taint in node.spec.taints if not _is_our_taint(taint))
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


def _is_our_taint(taint: NodeTaint) -> bool:
    return Taint(taint.key, taint.effect, taint.value) == OUR_TAINT
