"""Runs a program until a signal at which it stops gracefully, and serves its probes and metrics over HTTP.

Kubelet reads /livez and /readyz on one port, Prometheus reads /metrics of a controller on another.

The agent imports this module, so it imports neither click nor prometheus_client.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from nodemend.kube.asyncio_runtime import run
from nodemend.settings.setting import Address
from nodemend.telemetry.logging import LibraryLogs, Log

EXIT_STOPPED: Final = 0
EXIT_FAILED: Final = 1


def run_program(log: Log, serve: Coroutine[Any, Any, None], failures: tuple[type[Exception], ...]) -> int:
    """Run until a signal ends it (0) or one of the external `failures` does (1). A bug in Nodemend raises."""
    # Log records of libraries become Nodemend's lines, so that the stream holds nothing else.
    logging.basicConfig(handlers=[LibraryLogs(log)], level=logging.WARNING, force=True)
    try:
        run(serve)
    except failures as error:
        log.error("cannot go on", why=f"{type(error).__name__}: {error}")
        return EXIT_FAILED
    log.info("stopped")
    return EXIT_STOPPED


async def until_stop_signal(log: Log) -> None:
    """Return at the first SIGTERM or SIGINT."""
    reported = asyncio.get_running_loop().create_future()

    def stop(name: str) -> None:
        if not reported.done():
            reported.set_result(name)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop, number.name)
    log.info("stop requested", signal=await reported)


MOST_CONNECTIONS: Final = 64
_IDLE_SECONDS: Final = 10.0
_CLOSE_SECONDS: Final = 1.0
_LONGEST_LINE: Final = 2048

ProbeHandler = Callable[[web.BaseRequest], web.Response]


@dataclass(frozen=True, slots=True)
class Readiness:
    """The name of the state that a process must reach to be ready. A standby is as ready as a leader."""

    state: str
    reached: Callable[[], bool]


def probes_of(readiness: Readiness) -> dict[str, ProbeHandler]:
    """The handlers of /livez and /readyz.

    Any response of /livez shows that the event loop runs. A task that ends early ends the process itself.
    """
    return {
        "/livez": lambda _: web.Response(text="ok\n"),
        "/readyz": lambda _: _ready_response(readiness),
    }


def _ready_response(readiness: Readiness) -> web.Response:
    if readiness.reached():
        return web.Response(text="ok\n")
    return web.Response(status=503, text=f"waiting for {readiness.state}\n")


async def listen(sockets: AsyncExitStack, address: Address, answers: Mapping[str, ProbeHandler]) -> int:
    """Bind, and close with the stack. Returns the bound port."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        answer = answers.get(request.path)
        if answer is None:
            return web.Response(status=404, text=f"There is only {', '.join(answers)} here.\n")
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="Only GET is answered.\n", headers={"Allow": "GET, HEAD"})
        return answer(request)

    server = web.Server(
        handle,
        access_log=None,
        keepalive_timeout=_IDLE_SECONDS,
        lingering_time=0.0,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
    )

    def accept() -> asyncio.Protocol:
        # A new client ends the oldest connection: idle connections must not starve a kubelet's probe.
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


@dataclass(frozen=True, slots=True)
class Listening:
    """The ports that were bound."""

    probes: int
    metrics: int


Exposition = Callable[[str], tuple[bytes, str]]
"""From an Accept header to the metrics and their content type."""


async def serve_probes(
    probes: Address,
    metrics: Address,
    readiness: Readiness,
    expose: Exposition,
    on_listening: Callable[[Listening], object] | None = None,
) -> None:
    """Serve until cancelled; then close every socket. Raises OSError if an address cannot be bound."""
    async with AsyncExitStack() as sockets:
        ports = Listening(
            probes=await listen(sockets, probes, probes_of(readiness)),
            metrics=await listen(sockets, metrics, {"/metrics": lambda asked: _metrics(asked, expose)}),
        )
        if on_listening is not None:
            on_listening(ports)
        await asyncio.get_running_loop().create_future()


def _metrics(request: web.BaseRequest, expose: Exposition) -> web.Response:
    body, content_type = expose(request.headers.get("Accept", ""))
    return web.Response(body=body, headers={"Content-Type": content_type})
