"""The raw floor: read the socket, split the lines, decode the fields that are needed. No cache, no machine.

`python -m bench.clients.floor PORT`
"""

import sys
from datetime import datetime

import aiohttp
import msgspec

from bench.clients.measure import Measurement
from bench.clients.node_generator import LAST
from nodemend.kube.asyncio_runtime import run
from nodemend.records.node import NodeSpecWire, NodeStatusWire


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    namespace: str = ""


class _Node(msgspec.Struct, frozen=True, gc=False):
    """The fields that a check needs, each decoded to its type."""

    metadata: _Metadata
    spec: NodeSpecWire = NodeSpecWire()
    status: NodeStatusWire = NodeStatusWire()


class _Event(msgspec.Struct, gc=False):
    type: str
    object: _Node


async def main(port: int) -> None:
    decoder = msgspec.json.Decoder(_Event)
    measurement = Measurement("floor")
    events = read = 0
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=None), read_bufsize=1 << 20
    ) as session:
        measurement.begin()
        async with session.get(f"http://127.0.0.1:{port}/api/v1/nodes?watch=true") as response:
            begun = b""
            async for data in response.content.iter_any():
                read += len(data)
                measurement.passed(read)
                block = begun + data
                end = block.rfind(b"\n") + 1
                begun = block[end:]
                decoded = decoder.decode_lines(block[:end]) if end else []
                events += len(decoded)
                if decoded and decoded[-1].object.metadata.name == LAST:
                    break
            measurement.end(events, 0)


if __name__ == "__main__":
    run(main(int(sys.argv[1])))
