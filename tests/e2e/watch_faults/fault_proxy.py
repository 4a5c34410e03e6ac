"""A proxy between one watcher and the API server, with a configurable fault.

It terminates the watcher's TLS with the API server's own certificate and connects to the server by TLS, so
that it sees lines and can cut them anywhere. It relays bytes and never repairs anything.
"""

import asyncio
import random
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.e2e.watch_faults.faults import Fault, SentRequest, instead_of_answer

_GARBAGE = b"\x00\xffnot a frame\r\n"
_SLOW_BYTES = 5
_SLOW_SECONDS = 0.001

Instead = Callable[[Fault, SentRequest], bytes | None]


class FaultProxy:
    """Listens on loopback while entered."""

    def __init__(
        self, upstream: int, certificates: Path, seed: int, instead: Instead = instead_of_answer
    ) -> None:
        self.fault = Fault.NONE
        self.flowing = asyncio.Event()
        """Cleared while streams are stalled."""
        self.flowing.set()
        self.port = 0
        self._upstream = upstream
        self._chance = random.Random(seed)
        self._instead = instead
        self._serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._serving.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
        self._asking = ssl.create_default_context(cafile=str(certificates / "apiserver.crt"))
        self._relays: set[Relay] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._serving)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def inject(self, fault: Fault) -> None:
        """Set the fault, and apply it to open connections if it would otherwise only affect new ones."""
        self.fault = fault
        (self.flowing.clear if fault is Fault.STALL else self.flowing.set)()
        for relay in list(self._relays):
            relay.feel(fault)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        relay: Relay | None = None
        try:
            if self.fault is Fault.RESET:
                return
            upstream = await asyncio.open_connection("127.0.0.1", self._upstream, ssl=self._asking)
            relay = Relay(self, (reader, writer), upstream)
            self._relays.add(relay)
            await relay.run()
        except (OSError, asyncio.IncompleteReadError):
            pass  # One side closed; so does the other.
        finally:
            self._tasks.discard(task)
            writer.transport.abort()
            if relay is not None:
                self._relays.discard(relay)
                relay.end()

    def instead(self, asked: SentRequest) -> bytes | None:
        return self._instead(self.fault, asked)

    def chance(self) -> float:
        return self._chance.random()


_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """One connection of the watcher and its counterpart to the server."""

    def __init__(self, proxy: FaultProxy, client: _Stream, upstream: _Stream) -> None:
        self._proxy = proxy
        self._from_client, self._to_client = client
        self._from_server, self._to_server = upstream
        self._watching = False
        self._dead = False

    async def run(self) -> None:
        """Relay until either side closes."""
        ways = {asyncio.create_task(self._requests()), asyncio.create_task(self._answers())}
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    def end(self) -> None:
        self._to_server.transport.abort()

    def feel(self, fault: Fault) -> None:
        if fault is Fault.HALF_OPEN:
            self._dead = True
        elif fault not in {Fault.NONE, Fault.STALL, Fault.SLOW, Fault.CUT, Fault.GARBAGE_FRAMES}:
            # These faults only affect new requests: close the old connections, so that there are new ones.
            self._to_client.transport.abort()

    async def _requests(self) -> None:
        while True:
            head = await self._from_client.readuntil(b"\r\n\r\n")
            asked = _read_head(head)
            self._watching = asked.watches
            if self._dead or self._proxy.fault in {Fault.MUTE, Fault.HALF_OPEN}:
                await asyncio.Event().wait()
            if (answer := self._proxy.instead(asked)) is not None:
                self._to_client.write(answer)
                await self._to_client.drain()
                continue
            self._to_server.write(head)
            await self._to_server.drain()

    async def _answers(self) -> None:
        while data := await self._from_server.read(65536):
            if self._dead:
                continue
            if self._watching:
                await self._pass_on(data)
            else:
                self._to_client.write(data)
                await self._to_client.drain()

    async def _pass_on(self, data: bytes) -> None:
        """Relay a piece of a watch, changed by the current fault."""
        await self._proxy.flowing.wait()
        match self._proxy.fault:
            case Fault.CUT:
                self._to_client.write(data[: int(len(data) * self._proxy.chance())])
                with suppress(OSError):
                    await self._to_client.drain()
                raise ConnectionResetError
            case Fault.GARBAGE_FRAMES:
                place = int(len(data) * self._proxy.chance())
                self._to_client.write(data[:place] + _GARBAGE + data[place:])
            case Fault.SLOW:
                for place in range(0, len(data), _SLOW_BYTES):
                    self._to_client.write(data[place : place + _SLOW_BYTES])
                    await self._to_client.drain()
                    await asyncio.sleep(_SLOW_SECONDS)
            case _:
                self._to_client.write(data)
        await self._to_client.drain()


def _read_head(head: bytes) -> SentRequest:
    target = urlsplit(head.split(b" ", 2)[1].decode())
    query = parse_qs(target.query)
    watches = "watch" in query
    return SentRequest(watches, lists=not watches or "sendInitialEvents" in query)
