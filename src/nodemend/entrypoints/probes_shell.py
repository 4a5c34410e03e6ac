"""What a kubelet and a Prometheus ask of us: /livez and /readyz on one port, /metrics on another."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from nodemend.entrypoints.small_server_shell import listen, probes_of
from nodemend.settings.controller_settings import ControllerSettings
from nodemend.telemetry.health_board import HealthView


@dataclass(frozen=True, slots=True)
class Listening:
    """The ports that were had."""

    probes: int
    metrics: int


async def serve_probes(
    settings: ControllerSettings,
    health: HealthView,
    registry: CollectorRegistry,
    on_listening: Callable[[Listening], None] | None = None,
) -> None:
    """Answer until cancelled; then every socket is closed. Raises OSError when an address cannot be had."""
    async with AsyncExitStack() as sockets:
        ports = Listening(
            probes=await listen(sockets, settings.probes, probes_of(health)),
            metrics=await listen(sockets, settings.metrics, {"/metrics": lambda r: _expose(r, registry)}),
        )
        if on_listening is not None:
            on_listening(ports)
        await asyncio.get_running_loop().create_future()


def _expose(request: web.BaseRequest, registry: CollectorRegistry) -> web.Response:
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return web.Response(body=encode(registry), headers={"Content-Type": content_type})
