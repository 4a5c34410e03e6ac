"""The one lock of a node: a Lease named after its UID, which belongs to the remediation at work."""

from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION
from nodemend.api.lease import Lease
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader, seen
from nodemend.decide.facts import Absent, Present, Seen
from nodemend.decide.remediation_life import HeldBy
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok
from nodemend.kube.api_request import Precondition, Selection, delete
from nodemend.kube.paged_list import list_all

LOCK_PREFIX: Final = "node-"
SWEEP_EVERY: Final = 60.0
_HOLDERS: Final = {
    resource.kind: resource for resource in (MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION)
}


class _Holder(Wire):
    metadata: ObjectMeta = ObjectMeta()


def lock_name(uid: str) -> str:
    return f"{LOCK_PREFIX}{uid}"


async def read_lock(reader: Reader, namespace: str, uid: str) -> Seen[Lease]:
    """The lock of what has this UID; there is none of what has none."""
    if not uid:
        return Absent()
    return seen(await reader.get(LEASE, lock_name(uid), Lease, namespace))


async def held_by(reader: Reader, lock: Seen[Lease], remediation: ObjectMeta) -> Seen[HeldBy]:
    if not isinstance(lock, Present):
        return lock
    uid = lock.value.spec.holder_identity or ""
    who = lock.value.metadata.annotations.get(keys.HOLDER, "")
    if uid == remediation.uid:
        return Present(HeldBy(ours=True, holder=who))
    gone = await is_orphaned(reader, lock.value)
    return Present(HeldBy(ours=False, holder=who or uid, orphaned=gone))


def is_ours(lock: Seen[HeldBy]) -> bool:
    return isinstance(lock, Present) and lock.value.ours


async def is_orphaned(reader: Reader, lock: Lease) -> bool:
    """Whether certainly nobody holds it: it names no remediation, or one that the API server says is gone.

    We never write a lock that names none. A kind that we do not know may be a later version's.
    """
    kind, _, address = lock.metadata.annotations.get(keys.HOLDER, "").partition(" ")
    namespace, _, name = address.partition("/")
    if not (kind and namespace and name):
        return True
    resource = _HOLDERS.get(kind)
    if resource is None:
        return False
    found = seen(await reader.get(resource, name, _Holder, namespace))
    holder = lock.spec.holder_identity or ""
    return isinstance(found, Absent) or (isinstance(found, Present) and found.value.metadata.uid != holder)


class LockSweep:
    """Gives back locks that nobody holds: a request that was given up may be applied late.

    Serves one leadership. `client` must refuse writes once that is over.
    """

    def __init__(self, reader: Reader, client: ApiClient, system_namespace: str) -> None:
        self._reader = reader
        self._client = client
        self._namespace = system_namespace

    async def run(self) -> None:
        """Until cancelled. What cannot be read or written now is looked at again the next time."""
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
