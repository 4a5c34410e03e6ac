"""lightkube's asynchronous watch of Nodes, kept in a dictionary.

`python -m bench.clients.other_lightkube PORT`
"""

import asyncio
import os
import sys
import tempfile
from typing import Any

from lightkube import AsyncClient  # type: ignore[import-not-found]
from lightkube.resources.core_v1 import Node  # type: ignore[import-not-found]

from bench.clients.measure import Measurement
from bench.clients.node_generator import LAST

_KUBECONFIG = """
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: u, user: {}}]
"""


async def main() -> None:
    client = AsyncClient()
    cache: dict[str, Any] = {}
    events = 0
    measurement = Measurement("lightkube")
    measurement.begin()
    async for _, node in client.watch(Node):
        events += 1
        cache[node.metadata.name] = node
        if node.metadata.name == LAST:
            break
    measurement.end(events, len(cache))
    os._exit(0)


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(_KUBECONFIG.replace("PORT", sys.argv[1]))
        file.flush()
        os.environ["KUBECONFIG"] = file.name
        asyncio.run(main())
