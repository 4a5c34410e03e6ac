"""Gives back locks on nodes whose remediation is gone: a request that was given up may be applied late."""

from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader, seen
from nodemend.controllers.manual_remediation.gather import LOCK_PREFIX
from nodemend.decide.facts import Absent, Present
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok
from nodemend.kube.api_request import Precondition, Selection, delete
from nodemend.kube.paged_list import list_all

SWEEP_EVERY: Final = 60.0


class LockSweep:
    """Serves one leadership. `client` must refuse writes once that is over."""

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
            if lease.metadata.name.startswith(LOCK_PREFIX) and await self._is_orphan(lease):
                metadata = lease.metadata
                only_if = Precondition(metadata.uid, metadata.resource_version)
                request = delete(LEASE, metadata.name, self._namespace, only_if=only_if)
                deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
                await self._client.write(request, Acknowledged, deadline=deadline)

    async def _is_orphan(self, lease: Lease) -> bool:
        """Only what was a ManualRemediation's, and only when the API server itself says that it is gone."""
        kind, _, address = lease.metadata.annotations.get(keys.HOLDER, "").partition(" ")
        namespace, _, name = address.partition("/")
        if kind != MANUAL_REMEDIATION.kind or not name:
            return False
        found = seen(await self._reader.get(MANUAL_REMEDIATION, name, ManualRemediation, namespace))
        replaced = isinstance(found, Present) and found.value.metadata.uid != lease.spec.holder_identity
        return isinstance(found, Absent) or replaced
