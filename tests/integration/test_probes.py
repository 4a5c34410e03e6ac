"""The probes on a real socket."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from nodemend.cmd.controllers import expose_metrics
from nodemend.cmd.serving import MOST_CONNECTIONS, Listening, Readiness, serve_probes
from nodemend.settings.controller import ControllerSettings, read_settings
from nodemend.telemetry.metrics import Metrics

READY = Readiness("nothing", lambda: True)
Act = Callable[[aiohttp.ClientSession, Listening], Coroutine[Any, Any, None]]


def local(**flags: str) -> ControllerSettings:
    addresses = {
        "probe_address": "127.0.0.1",
        "probe_port": "0",
        "metrics_address": "127.0.0.1",
        "metrics_port": "0",
    }
    return read_settings({**addresses, **flags}, {}, "host-1")


def while_serving(act: Act, readiness: Readiness = READY) -> None:
    """Serve, act, cancel; everything within a minute."""

    async def run() -> None:
        registry, settings = CollectorRegistry(), local()
        Metrics(registry, program="nodemend-checker", version="1", monotonic=lambda: 0.0)
        listening: asyncio.Future[Listening] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_probes(
                settings.probes,
                settings.metrics,
                readiness,
                lambda accepted: expose_metrics(registry, accepted),
                listening.set_result,
            )
        )
        try:
            async with asyncio.timeout(60.0), aiohttp.ClientSession() as session:
                await act(session, await listening)
        finally:
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving

    asyncio.run(run())


async def ask(session: aiohttp.ClientSession, port: int, path: str, method: str = "GET") -> tuple[int, str]:
    async with session.request(method, f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.text()


def test_a_healthy_process_reports_it() -> None:
    async def act(session: aiohttp.ClientSession, ports: Listening) -> None:
        assert await ask(session, ports.probes, "/livez") == (200, "ok\n")
        assert await ask(session, ports.probes, "/readyz") == (200, "ok\n")

    while_serving(act)


def test_a_process_that_is_not_ready_reports_the_reason() -> None:
    state = {"synced": False}

    async def act(session: aiohttp.ClientSession, ports: Listening) -> None:
        assert await ask(session, ports.probes, "/livez") == (200, "ok\n")
        assert await ask(session, ports.probes, "/readyz") == (503, "waiting for the first list of nodes\n")
        state["synced"] = True
        assert await ask(session, ports.probes, "/readyz") == (200, "ok\n")

    while_serving(act, Readiness("the first list of nodes", lambda: state["synced"]))


def test_metrics_are_on_their_own_port_and_nothing_else_is_there() -> None:
    async def act(session: aiohttp.ClientSession, ports: Listening) -> None:
        status, text = await ask(session, ports.metrics, "/metrics")
        assert (status, "nodemend_build_info" in text) == (200, True)
        assert (await ask(session, ports.probes, "/metrics"))[0] == 404
        assert (await ask(session, ports.metrics, "/livez"))[0] == 404
        assert (await ask(session, ports.metrics, "/"))[0] == 404
        assert (await ask(session, ports.probes, "/livez", "POST"))[0] == 405
        assert (await ask(session, ports.probes, "/livez", "HEAD"))[0] == 200

    while_serving(act)


def test_idle_connections_do_not_starve_a_probe() -> None:
    async def act(session: aiohttp.ClientSession, ports: Listening) -> None:
        idle = [
            await asyncio.open_connection("127.0.0.1", ports.probes) for _ in range(MOST_CONNECTIONS + 20)
        ]
        assert await ask(session, ports.probes, "/livez") == (200, "ok\n")
        ended = 0
        for reader, _ in idle[:10]:
            ended += await asyncio.wait_for(reader.read(), 30.0) == b""
        assert ended == 10
        for _, writer in idle:
            writer.close()

    while_serving(act)


def test_an_occupied_port_ends_the_process() -> None:
    async def run() -> None:
        taken = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        settings = local(metrics_port=str(port))
        with pytest.raises(OSError, match="address already in use"):
            await serve_probes(settings.probes, settings.metrics, READY, lambda _: (b"", "text/plain"))
        taken.close()

    asyncio.run(run())


def test_when_it_is_cancelled_the_ports_are_free_again() -> None:
    had: list[Listening] = []

    async def act(_session: aiohttp.ClientSession, ports: Listening) -> None:
        had.append(ports)

    async def knock() -> None:
        for port in (had[0].probes, had[0].metrics):
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)

    while_serving(act)
    asyncio.run(knock())
