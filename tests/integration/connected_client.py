"""Our client, connected to a control plane, for the length of one test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from controlplane.run import ControlPlane
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.client import ApiClient
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport


@dataclass(frozen=True, slots=True)
class Connected:
    runtime: AsyncioRuntime
    transport: HttpTransport
    client: ApiClient

    def soon(self, seconds: float = 30.0) -> float:
        """A deadline."""
        return self.runtime.monotonic() + seconds


@asynccontextmanager
async def connected(plane: ControlPlane) -> AsyncIterator[Connected]:
    runtime = AsyncioRuntime()
    transport = HttpTransport(LiveCredentials(find_connection({}, str(plane.kubeconfig)), runtime), runtime)
    try:
        yield Connected(runtime, transport, ApiClient(transport, runtime))
    finally:
        await transport.close()
