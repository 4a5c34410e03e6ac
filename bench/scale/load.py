"""Many writes to a real API server, at its full speed or at times that the caller sets."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.clients.node_generator import make_node, node_name
from nodemend.api.resources import NODE, Resource
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Content, Method, Request, create, item_path

AT_ONCE = 16
TYPES = [one["type"] for one in make_node(0)["status"]["conditions"]]


class Load:
    def __init__(self, transport: HttpTransport, runtime: AsyncioRuntime) -> None:
        self._transport = transport
        self._runtime = runtime

    async def write(self, request: Request) -> float:
        """The time of the reply. Raises AssertionError without one, or if it is an error."""
        reply = await self._transport.send(request, self._runtime.monotonic() + 30)
        assert isinstance(reply, ApiResponse), reply
        assert reply.status < 300, reply.body
        return time.monotonic()

    async def write_all(self, requests: Iterable[tuple[str, Request]]) -> dict[str, float]:
        """The time of each reply."""
        waiting, answered = iter(list(requests)), dict[str, float]()

        async def some() -> None:
            for name, request in waiting:
                answered[name] = await self.write(request)

        async with asyncio.TaskGroup() as hands:
            for _ in range(AT_ONCE):
                hands.create_task(some())
        return answered

    async def make_nodes(self, numbers: Sequence[int]) -> None:
        await self.write_all((node_name(number), _make(number)) for number in numbers)

    async def make(self, resource: Resource, body: dict[str, Any], namespace: str = "") -> float:
        full = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return await self.write(create(resource, full, namespace, manager="bench"))


@asynccontextmanager
async def load_on(kubeconfig: Path) -> AsyncIterator[Load]:
    runtime = AsyncioRuntime()
    credentials = LiveCredentials(find_connection({}, str(kubeconfig)), runtime)
    transport = HttpTransport(credentials, runtime, connections=AT_ONCE)
    try:
        yield Load(transport, runtime)
    finally:
        await transport.close()


def condition(number: int, type_: str, status: str) -> tuple[str, Request]:
    """The write by which one condition of a node changes."""
    return _patch(number, {"type": type_, "status": status, "reason": "Bench"})


def turned(number: int, type_: str, status: str) -> tuple[str, Request]:
    """The same, with the time of the change, which durations are computed from."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _patch(number, {"type": type_, "status": status, "reason": "Bench", "lastTransitionTime": at})


def heartbeat(number: int, beat: int) -> tuple[str, Request]:
    """The write of a heartbeat, without any other change."""
    at = f"2026-11-15T00:{beat // 60:02}:{beat % 60:02}Z"
    return _patch(number, {"type": "Ready", "lastHeartbeatTime": at})


def _patch(number: int, change: dict[str, str]) -> tuple[str, Request]:
    """By the index of the type among the conditions of every generated node."""
    name, place = node_name(number), TYPES.index(change["type"])
    where = f"/status/conditions/{place}"
    operations = [
        {"op": "add", "path": f"{where}/{key}", "value": value}
        for key, value in change.items()
        if key != "type"
    ]
    path = item_path(NODE, name, subresource="status")
    return name, Request(Method.PATCH, path, (), msgspec.json.encode(operations), Content.JSON_PATCH)


def _make(number: int) -> Request:
    node = make_node(number)
    kept = ("name", "labels", "annotations")
    node["metadata"] = {key: node["metadata"][key] for key in kept}
    return create(NODE, node, manager="bench")
