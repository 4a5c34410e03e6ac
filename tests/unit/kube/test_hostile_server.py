"""Another cluster's API server may send anything: one request fails, and at most its bound is read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from nodemend.api.resources import NODE
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials import Connection, Endpoint
from nodemend.kube.credentials_io import LiveCredentials
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.reflector import OpenStream, Reflector, SendPage, Sleep, StreamOpened
from nodemend.kube.request import EVERYTHING, list_page, watch
from nodemend.kube.store import FOREIGN_LIST
from nodemend.records.node import MOST_LABELS, foreign_nodes, node_records

LIMIT = 100_000
PAGE = list_page(NODE, EVERYTHING, limit=1)
WATCH = watch(NODE, EVERYTHING, version="1", seconds=10)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def connected(serve: Serve) -> AsyncIterator[HttpTransport]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    runtime = AsyncioRuntime()
    credentials = LiveCredentials(Connection(Endpoint(f"http://127.0.0.1:{port}")), runtime)
    transport = HttpTransport(credentials, runtime, kept=False, longest_body=LIMIT)
    try:
        yield transport
    finally:
        await transport.close()
        server.close()


def saying(*pieces: bytes, forever: bytes = b"") -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            for piece in pieces:
                writer.write(piece)
            while forever:
                writer.write(forever)
                await writer.drain()
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    return serve


def asked(serve: Serve) -> Reply:
    async def story() -> Reply:
        async with connected(serve) as transport:
            return await transport.send(PAGE, AsyncioRuntime().monotonic() + 5.0)

    return asyncio.run(story())


def ok(body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body])


@pytest.mark.attack("S5")
@pytest.mark.parametrize(
    "header",
    [
        b"Date: Sun, 06 Nov 99999999999 08:49:37 GMT",
        b"Date: " + b"9" * 4000,
        b"Retry-After: " + b"9" * 4000,
        b"Retry-After: Sun, 06 Nov 99999999999 08:49:37 GMT",
        b"Content-Encoding: br",
        b"Set-Cookie: \xff=\xfe",
    ],
)
def test_no_header_of_a_server_raises(header: bytes) -> None:
    reply = asked(saying(ok(b"{}", header)))

    assert isinstance(reply, ApiResponse | Unanswered)


@pytest.mark.attack("S5")
@pytest.mark.parametrize(
    "pieces",
    [
        (b"\x00" * 5000,),
        (b"HTTP/1.1 999999 X\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",),
        (b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n",),
        (b"HTTP/1.1 302 X\r\nLocation: https://[\r\nContent-Length: 0\r\n\r\n",),
        (),
    ],
)
def test_bytes_that_are_no_answer_are_an_outcome(pieces: tuple[bytes, ...]) -> None:
    assert isinstance(asked(saying(*pieces)), ApiResponse | Unanswered)


@pytest.mark.attack("S5")
def test_an_answer_without_end_is_left() -> None:
    reply = asked(saying(b"HTTP/1.1 200 OK\r\n\r\n", forever=b"A" * 65536))

    assert reply == Unanswered(f"the answer is longer than {LIMIT} bytes")


@pytest.mark.attack("S5")
@pytest.mark.parametrize("chunk", [b"ZZ\r\n", b"-1\r\n", b"FFFFFFFFFFFFFFFFFF\r\n"])
def test_a_watch_that_breaks_off_has_ended(chunk: bytes) -> None:
    async def story() -> object:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        async with connected(saying(head, chunk)) as transport:
            stream = await transport.open(WATCH, AsyncioRuntime().monotonic() + 5.0)
            if isinstance(stream, Unanswered):
                return stream
            assert not isinstance(stream, ApiResponse)
            try:
                return await stream.read(1.0)  # type: ignore[union-attr]
            finally:
                stream.close()  # type: ignore[union-attr]

    assert isinstance(asyncio.run(story()), StreamEnded | StreamSilent | Unanswered)


# Lists without end.


def node(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "1", "labels": labels}}


def page_of(*nodes: dict[str, object], follow: str = "more") -> ApiResponse:
    metadata = {"resourceVersion": "7", "continue": follow}
    return ApiResponse(200, msgspec.json.encode({"metadata": metadata, "items": nodes}))


def pages_taken(reply: Callable[[int], ApiResponse]) -> tuple[int, str]:
    """The number of pages requested in a row, and the reflector's failure by then."""
    reflector = Reflector(foreign_nodes(node_records()), chance=lambda: 0.5)
    command, number = reflector.start(0.0), 0
    while isinstance(command, SendPage):
        number += 1
        assert number <= FOREIGN_LIST.pages + 1
        command = reflector.step(reply(number), float(number)).command
    assert isinstance(command, Sleep)
    assert len(reflector.cache) == 0
    return number, reflector.failure


@pytest.mark.attack("S5")
def test_a_list_without_end_is_given_up_by_its_pages() -> None:
    number, why = pages_taken(lambda number: page_of(node(f"n{number}")))

    assert (number, why) == (FOREIGN_LIST.pages + 1, f"a list of more than {FOREIGN_LIST.pages} pages")


@pytest.mark.attack("S5")
def test_a_list_without_end_is_given_up_by_its_objects() -> None:
    nodes = [[node(f"n{number}-{place}") for place in range(500)] for number in range(20)]
    _, why = pages_taken(lambda number: page_of(*nodes[number - 1]))

    assert why == f"a list of more than {FOREIGN_LIST.objects} objects"


@pytest.mark.attack("S5")
def test_a_list_without_end_is_given_up_by_its_bytes() -> None:
    fat: dict[str, object] = {"metadata": {"name": "fat", "uid": "u", "annotations": {"a": "A" * 2**24}}}
    number, why = pages_taken(lambda number: page_of(fat))

    assert number <= 9
    assert why == f"a list of more than {FOREIGN_LIST.octets} bytes"


@pytest.mark.slow
def test_a_workload_cluster_of_5000_nodes_is_listed() -> None:
    reflector = Reflector(foreign_nodes(node_records()), chance=lambda: 0.5)
    padding = {f"example.com/feature-{number}": "true" for number in range(100)}
    command = reflector.start(0.0)
    for number in range(10):
        assert isinstance(command, SendPage)
        nodes = [node(f"n{number}-{place}", **padding) for place in range(500)]
        command = reflector.step(page_of(*nodes, follow="" if number == 9 else "more"), 1.0).command

    assert isinstance(command, OpenStream)
    assert len(reflector.cache) == 5000


@pytest.mark.attack("S5")
def test_a_watch_that_adds_without_end_is_left() -> None:
    reflector = Reflector(foreign_nodes(node_records()), chance=lambda: 0.5)
    reflector.start(0.0)
    reflector.step(page_of(follow=""), 1.0)
    command = reflector.step(StreamOpened(), 1.0).command
    for number in range(100):
        lines = b"".join(
            msgspec.json.encode({"type": "ADDED", "object": node(f"n{number}-{place}")}) + b"\n"
            for place in range(500)
        )
        command = reflector.step(lines, 2.0).command
        if reflector.failure:
            break

    assert reflector.failure == "more objects than a list may have"
    assert len(reflector.cache) <= FOREIGN_LIST.objects + 500
    assert type(command).__name__ == "CloseStream"


@pytest.mark.attack("S5")
@pytest.mark.parametrize(
    "labels", [{f"k{n}": "" for n in range(MOST_LABELS + 1)}, {"k": "v" * 40_000}], ids=["many", "long"]
)
def test_a_node_with_too_much_on_it_is_set_aside_and_the_others_are_read(labels: dict[str, str]) -> None:
    reflector = Reflector(foreign_nodes(node_records()), chance=lambda: 0.5)
    reflector.start(0.0)
    reflector.step(page_of(node("fat", **labels), node("n1"), follow=""), 1.0)

    assert list(reflector.cache.keys()) == ["n1"]
    assert list(reflector.unreadable) == ["fat"]
