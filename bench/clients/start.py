"""From nothing to a synced cache of real Nodes, beside the bare paged read of the same Nodes.

`python -m bench.clients.start bare|list|stream KUBECONFIG`
"""

import sys
from dataclasses import dataclass

import aiohttp
import msgspec

from bench.clients.measure import Measurement
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.credentials_io import LiveCredentials, RequestIdentity, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.informer import run_reflector
from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Stream
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Request
from nodemend.records.node import node_records


class _Metadata(msgspec.Struct):
    follow: str = msgspec.field(name="continue", default="")


class _Head(msgspec.Struct):
    """The part of a page that a bare read needs: the continue token, which precedes the items."""

    metadata: _Metadata


async def read_bare(kubeconfig: str) -> None:
    """Pages of 500, one after the other, discarded."""
    credentials = LiveCredentials(find_connection({}, kubeconfig), AsyncioRuntime())
    presented = await credentials.present()
    assert isinstance(presented, RequestIdentity)
    assert presented.tls is not None
    headers = {"Authorization": presented.authorization, "Accept-Encoding": "identity"}
    decoder = msgspec.json.Decoder(_Head)
    measurement = Measurement("bare")
    length = pages = 0
    async with aiohttp.ClientSession(headers=headers, read_bufsize=1 << 20) as session:
        measurement.begin()
        query = {"limit": "500"}
        while True:
            url = f"{credentials.server}/api/v1/nodes"
            async with session.get(url, params=query, ssl=presented.tls) as response:
                body = await response.read()
            measurement.lap()
            length += len(body)
            pages += 1
            follow = decoder.decode(body[: body.index(b',"items":')] + b"}").metadata.follow
            if not follow:
                break
            query["continue"] = follow
        measurement.end(pages, 0, bytes_read=length)


@dataclass
class LapTransport:
    """One lap per page."""

    inner: HttpTransport
    measurement: Measurement

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = await self.inner.send(request, deadline)
        self.measurement.lap()
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self.inner.open(request, deadline)


async def sync_cache(kubeconfig: str, mode: str) -> None:
    """The start of a controller; or the same with a streaming list, which is not used for Nodes."""
    runtime = AsyncioRuntime()
    credentials = LiveCredentials(find_connection({}, kubeconfig), runtime)
    measurement = Measurement(mode)
    inner = HttpTransport(credentials, runtime)
    transport = LapTransport(inner, measurement)
    streaming = True if mode == "stream" else None
    reflector = Reflector(node_records(), chance=runtime.random, streaming=streaming)
    synced = runtime.signal()
    measurement.begin()
    loop = runtime.spawn(run_reflector(reflector, transport, runtime, lambda _: synced.set()), "reflector")
    await synced.wait(within=600)
    measurement.end(len(reflector.cache), len(reflector.cache))
    loop.cancel()
    await loop.join()
    await inner.close()


if __name__ == "__main__":
    run(read_bare(sys.argv[2]) if sys.argv[1] == "bare" else sync_cache(sys.argv[2], sys.argv[1]))
