"""One connection of a node, from when it has proved which node it is."""

import asyncio
from collections.abc import Callable
from typing import cast

from nodemend.agent.peer_server_shell import Believe, node_shown


class Guest(asyncio.Protocol):
    """Passes everything on to another protocol, and tells when the connection begins and is over."""

    def __init__(
        self,
        greet: Callable[[], asyncio.Protocol],
        believe: Believe,
        begins: Callable[["Guest", str], None],
        over: Callable[["Guest"], None],
    ) -> None:
        self._greet = greet
        self._believe = believe
        self._inner = asyncio.Protocol()
        self._begins = begins
        self._over = over
        self._transport: asyncio.Transport | None = None
        self.arrived = False

    def end(self) -> None:
        """At once: a polite end would wait for an answer."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        node = node_shown(transport, self._believe)
        self._transport = cast("asyncio.Transport", transport)
        if node is None:
            self.end()
            return
        self.arrived = True
        self._inner = self._greet()
        self._inner.connection_made(transport)
        self._begins(self, node)

    def connection_lost(self, error: Exception | None) -> None:
        try:
            self._inner.connection_lost(error)
        finally:
            self._over(self)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
