"""A small HTTP server for kubelet and Prometheus: a few paths, bounded connections."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final

from aiohttp import web

from nodemend.settings.source import Address
from nodemend.telemetry.health_board import HealthView
from nodemend.telemetry.printable import printable

MOST_CONNECTIONS: Final = 64
_IDLE_SECONDS: Final = 10.0
_CLOSE_SECONDS: Final = 1.0
_LONGEST_LINE: Final = 2048

Answer = Callable[[web.BaseRequest], web.Response]


def probes_of(health: HealthView) -> dict[str, Answer]:
    """That /livez answers at all shows that the event loop turns."""
    return {
        "/livez": lambda _: _judge(health.why_dead()),
        "/readyz": lambda _: _judge(health.why_not_ready()),
    }


async def listen(sockets: AsyncExitStack, address: Address, answers: Mapping[str, Answer]) -> int:
    """Bind, and close with the stack. The port that was had."""
    server = web.Server(
        _handler(answers),
        access_log=None,
        keepalive_timeout=_IDLE_SECONDS,
        lingering_time=0.0,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
    )

    def accept() -> asyncio.Protocol:
        # A newcomer is let in at the cost of the oldest: idle connections must not starve a kubelet's probe.
        connections = server.connections
        if len(connections) >= MOST_CONNECTIONS:
            connections[0].force_close()
        return server()

    loop = asyncio.get_running_loop()
    listener = await loop.create_server(accept, address.host or None, address.port, backlog=MOST_CONNECTIONS)
    sockets.push_async_callback(_close, listener, server)
    port: int = listener.sockets[0].getsockname()[1]
    return port


async def _close(listener: asyncio.Server, server: web.Server) -> None:
    listener.close()
    await server.shutdown(_CLOSE_SECONDS)


def _handler(answers: Mapping[str, Answer]) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        answer = answers.get(request.path)
        if answer is None:
            return web.Response(status=404, text=f"There is only {', '.join(answers)} here.\n")
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="Only GET is answered.\n", headers={"Allow": "GET, HEAD"})
        return answer(request)

    return handle


def _judge(reasons: tuple[str, ...]) -> web.Response:
    if not reasons:
        return web.Response(text="ok\n")
    return web.Response(status=503, text="".join(f"{printable(reason)}\n" for reason in reasons))
