"""A TCP proxy in front of the API server that fails on request. It handles bytes only: TLS passes through."""

import asyncio
from enum import Enum, auto
from typing import Self


class Fault(Enum):
    NONE = auto()
    HANG = auto()  # nothing passes; what was sent meanwhile is lost
    HOLD = auto()  # nothing passes; what was sent meanwhile arrives when it heals
    DROP = auto()  # every connection is reset, and every new one
    LOSE_REPLIES = auto()  # requests arrive and are executed, and their replies are lost


class _Connection:
    """A client and its server, and the two directions between them."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.server: asyncio.StreamWriter | None = None
        self.lost_bytes = False

    def abort(self) -> None:
        for writer in (self.client, self.server):
            if writer is not None:
                writer.transport.abort()


class FaultyProxy:
    """The path of one candidate to the API server."""

    def __init__(self, target_port: int) -> None:
        self.port = 0
        self._target_port = target_port
        self._fault = Fault.NONE
        self._changed = asyncio.Event()
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.set(Fault.DROP)
        await self._server.wait_closed()

    def set(self, fault: Fault) -> None:
        before, self._fault = self._fault, fault
        for connection in tuple(self._connections):
            if fault is Fault.DROP or before is Fault.HANG or connection.lost_bytes:
                connection.abort()
        self._changed.set()
        self._changed = asyncio.Event()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(writer)
        self._connections.add(connection)
        try:
            if self._fault is Fault.DROP:
                return
            await self._wait_while(Fault.HANG, Fault.HOLD)
            back, connection.server = await asyncio.open_connection("127.0.0.1", self._target_port)
            answers = asyncio.create_task(self._pump(back, writer, connection, answers=True))
            try:
                await self._pump(reader, connection.server, connection, answers=False)
            finally:
                answers.cancel()
                await asyncio.gather(answers, return_exceptions=True)
        except OSError:
            pass  # One side closed; so does the other.
        finally:
            connection.abort()
            self._connections.discard(connection)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: _Connection,
        *,
        answers: bool,
    ) -> None:
        while data := await reader.read(65536):
            await self._wait_while(Fault.HANG, Fault.HOLD)
            if answers and self._fault is Fault.LOSE_REPLIES:
                connection.lost_bytes = True
                continue
            writer.write(data)
            await writer.drain()
        if answers:
            connection.abort()

    async def _wait_while(self, *faults: Fault) -> None:
        while self._fault in faults:
            await self._changed.wait()
