"""Gives back locks on nodes whose remediation is gone: a request that was given up may be applied late."""

from typing import Final

from nodemend.api.group_versions import LEASE
from nodemend.api.lease import Lease
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.controllers.manual_remediation.gather import LOCK_PREFIX, is_orphaned
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
            if lease.metadata.name.startswith(LOCK_PREFIX) and await is_orphaned(self._reader, lease):
                metadata = lease.metadata
                only_if = Precondition(metadata.uid, metadata.resource_version)
                request = delete(LEASE, metadata.name, self._namespace, only_if=only_if)
                deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
                await self._client.write(request, Acknowledged, deadline=deadline)
