"""How much is asked of a server whose watches always fail, with the patience of production."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from controlplane.run import ControlPlane
from nodemend.kube.api_reply import Reply
from nodemend.kube.api_request import Request
from nodemend.kube.asyncio_shell import AsyncioRuntime
from nodemend.kube.credentials import Endpoint
from nodemend.kube.credentials_shell import LiveCredentials, find_connection
from nodemend.kube.http_shell import HttpTransport
from nodemend.kube.node_record import node_records
from nodemend.kube.ports import Stream
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from tests.chaos.watch_faults.fault_proxy import FaultProxy
from tests.chaos.watch_faults.faults import Fault, always_fails

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
    """Notes when each request was begun, whatever became of it."""

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
    """The most requests in any 30 s, of so many seconds with this fault from the beginning."""
    runtime = AsyncioRuntime()
    connection = find_connection({}, str(plane.kubeconfig))
    async with FaultProxy(plane.port, plane.directory / "certs", seed=1, instead=always_fails) as proxy:
        proxy.strike(fault)
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
    """The most of these moments that lie within one window."""
    return max(
        (sum(first <= moment < first + WINDOW_SECONDS for moment in begun) for first in begun), default=0
    )


def _ignore(_changes: object) -> None:
    """Nobody wants to know."""
