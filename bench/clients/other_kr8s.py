"""kr8s' asynchronous watch of Nodes, kept in a dictionary.

`python -m bench.clients.other_kr8s PORT`
"""

import asyncio
import os
import sys
from typing import Any

import kr8s.asyncio  # type: ignore[import-not-found]

from bench.clients.measure import Measurement
from bench.clients.node_generator import LAST


async def main(port: str) -> None:
    api = await kr8s.asyncio.api(url=f"http://127.0.0.1:{port}")
    cache: dict[str, Any] = {}
    events = 0
    measurement = Measurement("kr8s")
    measurement.begin()
    async for _, node in api.watch("nodes"):
        events += 1
        cache[node.metadata.name] = node
        if node.metadata.name == LAST:
            break
    measurement.end(events, len(cache))
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
