"""kopf, as its documentation would have a Node watched: one handler, no writes, nothing posted.

`python -m bench.clients.other_kopf PORT`
"""

import asyncio
import logging
import os
import sys
from typing import Any

import kopf  # type: ignore[import-not-found]

from bench.clients.measure import Measurement
from bench.clients.node_generator import HEARTBEATS, LAST

_cache: dict[str, Any] = {}
_events = 0
_done = asyncio.Event()


@kopf.on.startup()  # type: ignore[untyped-decorator]
async def _configure(settings: Any, **_: Any) -> None:
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.scanning.disabled = True


@kopf.on.login()  # type: ignore[untyped-decorator]
def _login(**_: Any) -> Any:
    return kopf.ConnectionInfo(server=f"http://127.0.0.1:{sys.argv[1]}")


@kopf.on.event("nodes")  # type: ignore[untyped-decorator]
async def _keep(event: Any, name: str, **_: Any) -> None:
    global _events  # noqa: PLW0603 - kopf's handlers are module functions
    _events += 1
    _cache[name] = event["object"]
    if name == LAST:
        _done.set()


async def main() -> None:
    logging.disable(logging.WARNING)
    measurement = Measurement("kopf")
    measurement.begin()
    operator = asyncio.create_task(kopf.operator(clusterwide=True, standalone=True))
    # Handlers of different objects run side by side: the last event does not end last.
    while not (_done.is_set() and _events >= (HEARTBEATS + 1) * (len(_cache) - 1) + 1):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    measurement.end(_events, len(_cache))
    operator.cancel()
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
