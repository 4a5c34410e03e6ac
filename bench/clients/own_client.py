"""The whole path of Nodemend's client: transport, reflector, cache, difference, queue.

`python -m bench.clients.own_client PORT`
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bench.clients.measure import Measurement
from bench.clients.node_generator import HEARTBEATS, LAST
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.credentials import Connection, Endpoint
from nodemend.kube.credentials_io import LiveCredentials
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.informer import run_reflector
from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Stream, StreamEnded, StreamSilent
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Request
from nodemend.kube.store import Change
from nodemend.kube.workqueue import WorkQueue
from nodemend.records.node import NodeRecord, node_records


@dataclass
class LapStream:
    """A stream that counts what is read from it."""

    inner: Stream
    measurement: Measurement
    length: int = 0

    async def read(self, within: float) -> bytes | StreamSilent | StreamEnded:
        data = await self.inner.read(within)
        if isinstance(data, bytes):
            self.length += len(data)
            self.measurement.passed(self.length)
        return data

    def close(self) -> None:
        self.inner.close()


@dataclass
class LapTransport:
    inner: HttpTransport
    measurement: Measurement

    async def send(self, request: Request, deadline: float) -> Reply:
        return await self.inner.send(request, deadline)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        opened = await self.inner.open(request, deadline)
        return opened if isinstance(opened, Reply) else LapStream(opened, self.measurement)


async def main(port: int) -> None:
    runtime = AsyncioRuntime()
    credentials = LiveCredentials(Connection(Endpoint(f"http://127.0.0.1:{port}")), runtime)
    measurement = Measurement("nodemend")
    inner = HttpTransport(credentials, runtime)
    transport = LapTransport(inner, measurement)
    # The empty list, then the watch: the same requests that every other client makes.
    reflector = Reflector(node_records(), chance=runtime.random, streaming=False)
    queue: WorkQueue[str] = WorkQueue(most=10_000_000)
    wakes = 0
    done = runtime.signal()

    def enqueue(changes: Sequence[Change[NodeRecord]]) -> None:
        nonlocal wakes
        now = runtime.monotonic()
        for change in changes:
            queue.add(change.key, now)
            wakes += 1
            if change.key == LAST:
                done.set()

    measurement.begin()
    loop = runtime.spawn(run_reflector(reflector, transport, runtime, enqueue), "reflector")
    await done.wait(within=300)
    nodes = len(reflector.cache)
    measurement.end((HEARTBEATS + 1) * (nodes - 1) + 1, nodes, wakes=wakes)
    loop.cancel()
    await loop.join()
    await inner.close()
    os._exit(0)


if __name__ == "__main__":
    run(main(int(sys.argv[1])))
