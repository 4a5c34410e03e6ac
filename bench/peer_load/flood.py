"""One connection with far too many queries, as cheap as asyncio allows."""

import asyncio
from typing import Any, Final

from nodemend.agent.peer_http import PATH

_BODY: Final = b'{"nonce":"00112233445566778899aabbccddeeff","nodeUID":"uid-of-the-flooder","bootID":"boot"}'
_REQUEST: Final = b"POST %s HTTP/1.1\r\nHost: agent\r\nContent-Length: %d\r\n\r\n%s" % (
    PATH.encode(),
    len(_BODY),
    _BODY,
)
_ANSWER: Final = b"HTTP/1.1 "
_MOST_UNANSWERED: Final = 16
"""The limit of unanswered queries. More would wait in buffers, and be no load."""
_COMES_BACK_AFTER: Final = 1.0


class Flooder(asyncio.Protocol):
    """Keeps one connection, with this many queries a second."""

    def __init__(self, rate: float, dial: dict[str, Any]) -> None:
        self._rate = rate
        self._dial = dial
        self._transport: asyncio.Transport | None = None
        self._unanswered = 0
        self.sent = 0
        self.answered = 0
        self.closed = 0

    async def run(self, tick: float) -> None:
        loop, due = asyncio.get_running_loop(), 0.0
        last = loop.time()
        while True:
            if self._transport is None:
                await self._connect()
            await asyncio.sleep(tick)
            now = loop.time()
            due, last = min(due + (now - last) * self._rate, _MOST_UNANSWERED), now
            burst = min(int(due), _MOST_UNANSWERED - self._unanswered)
            if burst > 0 and self._transport is not None:
                due -= burst
                self.sent += burst
                self._unanswered += burst
                self._transport.write(_REQUEST * burst)

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(5.0):
                await asyncio.get_running_loop().create_connection(lambda: self, **self._dial)
        except (OSError, TimeoutError):
            await asyncio.sleep(_COMES_BACK_AFTER)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._unanswered = transport, 0

    def data_received(self, data: bytes) -> None:
        """An answer is far shorter than a TLS record, and each is written at once, so none is split."""
        count = data.count(_ANSWER)
        self.answered += count
        self._unanswered -= count

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self.closed += 1
