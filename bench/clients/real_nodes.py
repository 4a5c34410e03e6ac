"""Puts synthetic Nodes into a real API server, many at a time."""

import asyncio
from pathlib import Path

from bench.clients.node_generator import make_node
from nodemend.api.resources import NODE
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import create

_AT_ONCE = 16


async def create_nodes(kubeconfig: Path, nodes: int) -> None:
    runtime = AsyncioRuntime()
    connection = find_connection({}, str(kubeconfig))
    transport = HttpTransport(LiveCredentials(connection, runtime), runtime, connections=_AT_ONCE)
    numbers = iter(range(nodes))

    async def create_some() -> None:
        for number in numbers:
            node = make_node(number)
            kept = ("name", "labels", "annotations")
            node["metadata"] = {key: node["metadata"][key] for key in kept}
            reply = await transport.send(create(NODE, node, manager="bench"), runtime.monotonic() + 30)
            assert isinstance(reply, ApiResponse), reply
            assert reply.status == 201, reply.body

    try:
        async with asyncio.TaskGroup() as creating:
            for _ in range(_AT_ONCE):
                creating.create_task(create_some())
    finally:
        await transport.close()
