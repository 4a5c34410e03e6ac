"""The transport against a loopback server with every fault that a network can have."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from nodemend.api.resources import NODE
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.credentials import Bearer, Connection, Endpoint, PemFile, StaticToken, TokenFile
from nodemend.kube.credentials_io import LiveCredentials
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.outcome import ApiResponse, Unanswered, Unsent
from nodemend.kube.ports import Stream, StreamEnded, StreamSilent
from nodemend.kube.request import EVERYTHING, Precondition, create, delete, get, watch

T = TypeVar("T")

READ = get(NODE, "n")
DELETE = delete(NODE, "n", only_if=Precondition("u", "1"))
WATCH = watch(NODE, EVERYTHING, version="1", seconds=300)
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Behave = Callable[["Peer"], Awaitable[None]]


class Peer:
    """One connection, on the server's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: list[str]) -> None:
        self._reader, self._writer, self._seen = reader, writer, seen

    async def hear(self) -> str:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        self._seen.append(head)
        length = next(
            (line.split(":")[1] for line in head.split("\r\n") if line.startswith("Content-Length:")), "0"
        )
        await self._reader.readexactly(int(length))
        return head

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def cut(self) -> None:
        self._writer.transport.abort()


@asynccontextmanager
async def served(
    behave: Behave, *, bearer: Bearer = None, connections: int = 8
) -> AsyncIterator[tuple[HttpTransport, list[str]]]:
    """A transport to a server with this behavior on each connection, and the requests that the server
    received.
    """
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behave(Peer(reader, writer, seen))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = Connection(Endpoint(f"http://127.0.0.1:{port}"), bearer)
    async with transport_to(connection, connections) as transport:
        yield transport, seen
    server.close()


@asynccontextmanager
async def transport_to(connection: Connection, connections: int = 8) -> AsyncIterator[HttpTransport]:
    runtime = AsyncioRuntime()
    transport = HttpTransport(LiveCredentials(connection, runtime), runtime, connections=connections)
    try:
        yield transport
    finally:
        await transport.close()


def soon(seconds: float = 30.0) -> float:
    return AsyncioRuntime().monotonic() + seconds


def outcome(behave: Behave, ask: Callable[[HttpTransport], Coroutine[Any, Any, T]]) -> tuple[T, list[str]]:
    async def main() -> tuple[T, list[str]]:
        async with served(behave) as (transport, seen):
            return await ask(transport), seen

    return run(main())


async def answer_all(peer: Peer) -> None:
    while True:
        await peer.hear()
        await peer.say(FINE)


def test_an_answer_has_status_body_and_the_server_s_clock() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(
            b"HTTP/1.1 429 Busy\r\nDate: Sun, 15 Nov 2026 04:05:42 GMT\r\nRetry-After: 3\r\n"
            b"Content-Length: 4\r\n\r\nbusy"
        )

    reply, seen = outcome(behave, lambda transport: transport.send(READ, soon()))

    assert reply == ApiResponse(429, b"busy", 3.0, 1794715542.0)
    assert "User-Agent: nodemend/" in seen[0]
    assert "Accept-Encoding: identity" in seen[0]
    assert "Cookie" not in seen[0]


def test_a_body_goes_out_with_its_content_type() -> None:
    request = create(NODE, {"a": 1}, manager="m")
    _, seen = outcome(answer_all, lambda transport: transport.send(request, soon()))

    assert seen[0].startswith("POST /api/v1/nodes?fieldManager=m HTTP/1.1\r\n")
    assert "Content-Type: application/json\r\n" in seen[0]


def test_a_refused_connection_is_unsent() -> None:
    async def main() -> object:
        async with transport_to(Connection(Endpoint("http://127.0.0.1:1"))) as transport:
            return await transport.send(DELETE, soon())

    assert isinstance(run(main()), Unsent)


def test_a_name_that_resolves_to_nothing_is_unsent() -> None:
    async def main() -> object:
        async with transport_to(Connection(Endpoint("https://nowhere.invalid"))) as transport:
            return await transport.send(DELETE, soon())

    assert isinstance(run(main()), Unsent)


def test_a_credential_that_cannot_be_read_is_unsent() -> None:
    async def main() -> object:
        endpoint = Endpoint("https://127.0.0.1:1", PemFile("/no/such/ca.crt"))
        async with transport_to(Connection(endpoint)) as transport:
            return await transport.send(DELETE, soon())

    reply = run(main())
    assert isinstance(reply, Unsent)
    assert "/no/such/ca.crt" in reply.why


def test_silence_until_the_deadline_is_unanswered_and_ends_there() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await asyncio.sleep(60)

    began = time.monotonic()
    reply, _ = outcome(behave, lambda transport: transport.send(DELETE, soon(1.0)))

    assert reply == Unanswered("no answer by the deadline")
    assert 0.9 < time.monotonic() - began < 30.0


def test_a_deadline_that_has_passed_sends_nothing() -> None:
    reply, seen = outcome(answer_all, lambda transport: transport.send(DELETE, soon(-1.0)))

    assert (reply, seen) == (Unsent("no connection by the deadline"), [])


def test_a_body_that_drips_does_not_outlive_the_deadline() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            await peer.say(b"x")
            await asyncio.sleep(0.05)

    began = time.monotonic()
    reply, _ = outcome(behave, lambda transport: transport.send(READ, soon(1.0)))

    assert isinstance(reply, Unanswered)
    assert time.monotonic() - began < 30.0


def test_a_body_cut_short_is_unanswered() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        peer.cut()

    reply, _ = outcome(behave, lambda transport: transport.send(READ, soon()))

    assert isinstance(reply, Unanswered)


def test_what_is_not_http_is_unanswered() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"SSH-2.0-OpenSSH_9\r\n\r\n")

    reply, _ = outcome(behave, lambda transport: transport.send(READ, soon()))

    assert isinstance(reply, Unanswered)


def test_nothing_is_sent_twice_when_a_kept_connection_breaks() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(FINE)
        await peer.hear()
        peer.cut()

    async def ask(transport: HttpTransport) -> list[object]:
        return [await transport.send(request, soon()) for request in (READ, DELETE)]

    (first, second), seen = outcome(behave, ask)

    assert first == ApiResponse(200, b"{}")
    assert isinstance(second, Unanswered)
    assert [head.split(" ")[0] for head in seen] == ["GET", "DELETE"]


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
        await peer.hear()

    reply, seen = outcome(behave, lambda transport: transport.send(READ, soon()))

    assert reply == ApiResponse(302, b"")
    assert len(seen) == 1


def test_waiting_for_a_free_connection_is_before_sending() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await asyncio.sleep(60)

    async def main() -> list[object]:
        async with served(behave, connections=1) as (transport, _):
            # The second ends first: it must not reuse the connection that the first releases.
            return list(await asyncio.gather(*(transport.send(DELETE, soon(end)) for end in (1.5, 0.5))))

    assert run(main()) == [Unanswered("no answer by the deadline"), Unsent("no connection by the deadline")]


# Streams.


def streamed(behave: Behave, read: Callable[[Stream], Coroutine[Any, Any, T]]) -> T:
    async def ask(transport: HttpTransport) -> T:
        stream = await transport.open(WATCH, soon())
        assert not isinstance(stream, ApiResponse | Unsent | Unanswered)
        try:
            return await read(stream)
        finally:
            stream.close()

    return outcome(behave, ask)[0]


def test_a_stream_gives_its_bytes_its_silence_and_its_end() -> None:
    silence_was_seen = asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(CHUNKED + b"3\r\nabc\r\n")
        await silence_was_seen.wait()
        await peer.say(b"1\r\nd\r\n0\r\n\r\n")

    async def read(stream: Stream) -> list[object]:
        pieces = [await stream.read(within) for within in (30.0, 0.1)]
        silence_was_seen.set()
        return [*pieces, await stream.read(30.0), await stream.read(30.0)]

    assert streamed(behave, read) == [
        b"abc",
        StreamSilent(),
        b"d",
        StreamEnded(clean=True, why="the server closed the stream"),
    ]


def test_a_stream_that_is_cut_did_not_end_cleanly() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(CHUNKED + b"3\r\nabc\r\n")
        peer.cut()

    async def read(stream: Stream) -> object:
        while isinstance(piece := await stream.read(30.0), bytes):
            pass
        return piece

    ended = streamed(behave, read)

    assert isinstance(ended, StreamEnded)
    assert not ended.clean


def test_a_watch_that_is_refused_is_an_answer() -> None:
    async def behave(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 410 Gone\r\nContent-Length: 2\r\n\r\n{}")

    reply, _ = outcome(behave, lambda transport: transport.open(WATCH, soon()))

    assert reply == ApiResponse(410, b"{}")


# Credentials.


def test_a_token_is_sent() -> None:
    async def main() -> list[str]:
        async with served(answer_all, bearer=StaticToken("t0")) as (transport, seen):
            await transport.send(READ, soon())
            return seen

    assert "Authorization: Bearer t0\r\n" in run(main())[0]


def test_a_rejected_token_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"

    async def behave(peer: Peer) -> None:
        while True:
            fresh = "Bearer new" in await peer.hear()
            status = b"200 OK" if fresh else b"401 Unauthorized"
            await peer.say(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")

    async def main() -> list[object]:
        async with served(behave, bearer=TokenFile(str(file))) as (transport, _):
            replies: list[object] = []
            for token in ("old", "new"):
                file.write_text(token)
                replies.append(await transport.send(READ, soon()))
            return replies

    assert run(main()) == [ApiResponse(401, b"{}"), ApiResponse(200, b"{}")]
