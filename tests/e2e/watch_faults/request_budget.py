"""The request rate to a server whose watches always fail, with production timings."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controlplane.run import ControlPlane
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials import Endpoint
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.informer import run_reflector
from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Stream
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Request
from nodemend.records.node import node_records
from tests.e2e.watch_faults.fault_proxy import FaultProxy
from tests.e2e.watch_faults.faults import Fault, always_fails

WINDOW_SECONDS = 30.0
MOST_REQUESTS = 10

WAYS = (
    Fault.CLOSE,
    Fault.CUT,
    Fault.GONE,
    Fault.GONE_EVENT,
    Fault.BUSY,
    Fault.BROKEN,
    Fault.GARBAGE,
    Fault.GARBAGE_FRAMES,
    Fault.RESET,
    Fault.MUTE,
)


@dataclass
class CountingTransport:
    """Records the start of each request, regardless of its outcome."""

    inner: HttpTransport
    runtime: AsyncioRuntime
    begun: list[float] = field(default_factory=list)

    async def send(self, request: Request, deadline: float) -> Reply:
        self.begun.append(self.runtime.monotonic())
        return await self.inner.send(request, deadline)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        self.begun.append(self.runtime.monotonic())
        return await self.inner.open(request, deadline)


async def most_requests(plane: ControlPlane, fault: Fault, seconds: float, *, streaming: bool) -> int:
    """The most requests in any 30 s, of a run of this many seconds with this fault from the start."""
    runtime = AsyncioRuntime()
    connection = find_connection({}, str(plane.kubeconfig))
    async with FaultProxy(plane.port, plane.directory / "certs", seed=1, instead=always_fails) as proxy:
        proxy.inject(fault)
        endpoint = Endpoint(f"https://127.0.0.1:{proxy.port}", connection.endpoint.authority)
        inner = HttpTransport(LiveCredentials(replace(connection, endpoint=endpoint), runtime), runtime)
        transport = CountingTransport(inner, runtime)
        reflector = Reflector(node_records(), chance=runtime.random, streaming=streaming)
        loop = runtime.spawn(run_reflector(reflector, transport, runtime, _ignore), "reflector")
        await asyncio.sleep(seconds)
        loop.cancel()
        await loop.join()
        await inner.close()
    return busiest(transport.begun)


def busiest(begun: Sequence[float]) -> int:
    """The most of these times that lie within one window."""
    return max(
        (sum(first <= moment < first + WINDOW_SECONDS for moment in begun) for first in begun), default=0
    )


def _ignore(_changes: object) -> None:
    """Discards the changes."""
