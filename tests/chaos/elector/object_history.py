"""Every committed version of one object, as a watch tells them."""

import asyncio
from pathlib import Path
from typing import Self

import msgspec

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.kube.api_reply import Answer, Unanswered, Unsent
from nodemend.kube.api_request import Selection, watch
from nodemend.kube.asyncio_shell import AsyncioRuntime
from nodemend.kube.credentials_shell import LiveCredentials, find_connection
from nodemend.kube.http_shell import HttpTransport
from nodemend.kube.ports import Stream, StreamEnded, StreamSilent
from tests.chaos.elector.histories import Version


class _Event(msgspec.Struct):
    type: str
    object: ManualRemediation


_decode = msgspec.json.Decoder(_Event).decode


class ObjectHistory:
    """Watches while it is open, straight to the API server."""

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
        if isinstance(opened, Answer | Unsent | Unanswered):
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
