"""The lock of a node: a Lease named after the Node's UID, held by its active remediation."""

from typing import Final

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta, Wire
from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION
from nodemend.api.upstream_types import Lease
from nodemend.kube.client import ApiClient, list_all
from nodemend.kube.outcome import Acknowledged, Ok
from nodemend.kube.request import Precondition, Selection, delete
from nodemend.records.live_reads import WRITE_WITHIN, LiveReader, read_result
from nodemend.safety.facts import Absent, Present, ReadResult
from nodemend.safety.lifecycle import LockHolder

LOCK_PREFIX: Final = "node-"
SWEEP_EVERY: Final = 60.0
_HOLDERS: Final = {
    resource.kind: resource for resource in (MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)
}


class _Holder(Wire):
    metadata: ObjectMeta = ObjectMeta()


def lock_name(uid: str) -> str:
    return f"{LOCK_PREFIX}{uid}"


async def read_lock(reader: LiveReader, namespace: str, uid: str) -> ReadResult[Lease]:
    """Read the lock of the object with this UID; Absent if the UID is empty."""
    if not uid:
        return Absent()
    return read_result(await reader.get(LEASE, lock_name(uid), Lease, namespace))


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
    found = read_result(await reader.get(resource, name, _Holder, namespace))
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
        for lease in listed.value.items if isinstance(listed, Ok) else ():
            if lease.metadata.name.startswith(LOCK_PREFIX) and await is_orphaned(self._reader, lease):
                metadata = lease.metadata
                only_if = Precondition(metadata.uid, metadata.resource_version)
                request = delete(LEASE, metadata.name, self._namespace, only_if=only_if)
                deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
                await self._client.write(request, Acknowledged, deadline=deadline)
