"""Every committed version of one object, from a watch."""

import asyncio
from pathlib import Path
from typing import Self

import msgspec

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.outcome import ApiResponse, Unanswered, Unsent
from nodemend.kube.ports import Stream, StreamEnded, StreamSilent
from nodemend.kube.request import Selection, watch
from tests.e2e.leader_election.histories import Version


class _Event(msgspec.Struct):
    type: str
    object: ManualRemediation


_decode = msgspec.json.Decoder(_Event).decode


class ObjectHistory:
    """Watches while it is open, without a proxy."""

    def __init__(self, kubeconfig: Path, name: str) -> None:
        self.versions: list[Version] = []
        runtime = AsyncioRuntime()
        self._transport = HttpTransport(
            LiveCredentials(find_connection({}, str(kubeconfig)), runtime), runtime
        )
        self._runtime = runtime
        self._name = name
        self._stream: Stream | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        of = Selection(namespace="default", fields=f"metadata.name={self._name}")
        request = watch(MANUAL_REMEDIATION, of, version="0", seconds=3600)
        opened = await self._transport.open(request, self._runtime.monotonic() + 10.0)
        if isinstance(opened, ApiResponse | Unsent | Unanswered):
            raise ConnectionError(f"the watch did not open: {opened}")
        self._stream = opened
        self._task = asyncio.create_task(self._follow(opened))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._stream is not None:
            self._stream.close()
        await self._transport.close()

    async def _follow(self, stream: Stream) -> None:
        rest = b""
        while True:
            data = await stream.read(30.0)
            if isinstance(data, StreamEnded):
                raise ConnectionError(f"the watch ended: {data.why}")
            if isinstance(data, StreamSilent):
                continue
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._note(_decode(line))

    def _note(self, event: _Event) -> None:
        if event.type in ("ADDED", "MODIFIED"):
            metadata = event.object.metadata
            self.versions.append(Version(int(metadata.resource_version), event.object.status.epoch))
