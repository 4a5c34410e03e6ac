"""Agents that query one another over real TLS on the loopback."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nodemend.agent.peer_http import (
    HANDSHAKES_FROM_ONE,
    MOST_WAITING_FROM_ONE,
    EvaluateCertificate,
    PeerListener,
    TlsPeerClient,
    client_tls,
    make_server,
    server_tls,
)
from nodemend.api.agent import PeerEntry, certified_name
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.protocol.peers import CertificateTrust, PeerReply
from tests.unit.agent.certificates import Authority, Shown


@dataclass
class Desk:
    """A responder that gives every peer the same answer, and records the callers."""

    answer: PeerReply = PeerReply.HEALTHY
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    async def __call__(self, node: str, uid: str, boot: str, within: float) -> PeerReply:
        assert within < 3.0
        self.asked.append((node, uid, boot))
        return self.answer


def full_belief(_shown: object) -> CertificateTrust:
    """Accept every certificate fully. test_outage_certificates tests their validity."""
    return CertificateTrust.FULL


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def peer(authority: Authority) -> Shown:
    return authority.issue(certified_name("peer"))


@pytest.fixture(scope="module")
def asker(authority: Authority) -> Shown:
    return authority.issue(certified_name("asker"))


@asynccontextmanager
async def serving(
    shown: Shown, responder: Desk, believe: EvaluateCertificate = full_belief
) -> AsyncIterator[tuple[str, PeerListener]]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = make_server(responder, believe)
    tls = server_tls(shown.certificate, shown.key, shown.authority)
    door = PeerListener(listener, lambda: tls, server, believe)
    task = asyncio.create_task(door.run())
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}", door
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.shutdown(1.0)
        listener.close()


async def ask(
    shown: Shown,
    *peers: PeerEntry,
    tls: Callable[[], ssl.SSLContext] | None = None,
    believe: EvaluateCertificate = full_belief,
) -> dict[str, PeerReply]:
    runtime = AsyncioRuntime()
    context = client_tls(shown.certificate, shown.key, shown.authority)
    client = TlsPeerClient("uid-1", "boot-1", runtime, tls or (lambda: context), believe)
    try:
        deadline = runtime.monotonic() + 3.0
        return {name: answer async for name, answer in client.ask(peers, deadline)}
    finally:
        await client.close()


def asked_once(server: Shown, client: Shown, named: str = "peer", responder: Desk | None = None) -> PeerReply:
    async def story() -> PeerReply:
        async with serving(server, responder or Desk()) as (address, _):
            return (await ask(client, PeerEntry(name=named, address=address)))[named]

    return asyncio.run(story())


@pytest.mark.parametrize("answer", list(PeerReply))
def test_a_peer_returns_the_answer_of_its_responder(peer: Shown, asker: Shown, answer: PeerReply) -> None:
    responder = Desk(answer)

    assert asked_once(peer, asker, responder=responder) is answer
    assert responder.asked == [("asker", "uid-1", "boot-1")]


def test_an_answer_from_another_peer_s_address_is_rejected(peer: Shown, asker: Shown) -> None:
    assert asked_once(peer, asker, named="somebody-else") is PeerReply.SILENT


def test_a_certificate_of_another_authority_is_rejected(tmp_path: Path, peer: Shown, asker: Shown) -> None:
    theirs = Authority(tmp_path, "others").issue(certified_name("asker"))
    responder = Desk()

    assert (
        asked_once(peer, replace(theirs, authority=asker.authority), responder=responder) is PeerReply.SILENT
    )
    assert responder.asked == []


@pytest.mark.parametrize(
    "names", [("example.com",), (certified_name("a"), certified_name("b")), (certified_name("a"), "a.com")]
)
def test_a_certificate_that_does_not_name_exactly_one_node_is_rejected(
    authority: Authority, peer: Shown, names: tuple[str, ...]
) -> None:
    odd = authority.issue(*names, file="odd")
    responder = Desk()

    assert asked_once(peer, odd, responder=responder) is PeerReply.SILENT
    assert responder.asked == []


def test_a_client_without_a_certificate_is_refused(peer: Shown) -> None:
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.load_verify_locations(peer.authority)
    assert answered_over(peer, bare) is PeerReply.SILENT


def test_a_client_with_less_than_tls_1_3_is_refused(peer: Shown, asker: Shown) -> None:
    old = client_tls(asker.certificate, asker.key, asker.authority)
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
    assert answered_over(peer, old) is PeerReply.SILENT


def answered_over(peer: Shown, context: ssl.SSLContext) -> PeerReply:
    async def story() -> PeerReply:
        responder = Desk()
        async with serving(peer, responder) as (address, _):
            found = await ask(peer, PeerEntry(name="peer", address=address), tls=lambda: context)
        assert responder.asked == []
        return found["peer"]

    return asyncio.run(story())


@pytest.mark.slow
def test_silent_peers_do_not_keep_the_others_waiting(peer: Shown, asker: Shown) -> None:
    async def story() -> dict[str, PeerReply]:
        dead = socket.create_server(("127.0.0.1", 0))
        async with serving(peer, Desk()) as (address, _):
            mute = PeerEntry(name="mute", address=f"127.0.0.1:{dead.getsockname()[1]}")
            found = await ask(asker, mute, PeerEntry(name="peer", address=address))
        dead.close()
        return found

    assert asyncio.run(story()) == {"peer": PeerReply.HEALTHY, "mute": PeerReply.SILENT}


async def visit(address: str, said: bytes) -> socket.socket:
    host, _, port = address.rpartition(":")
    caller, loop = socket.socket(), asyncio.get_running_loop()
    caller.setblocking(False)
    await loop.sock_connect(caller, (host, int(port)))
    await loop.sock_sendall(caller, said)
    return caller


async def over_within(caller: socket.socket, seconds: float) -> bool:
    """True if the other side closes the connection in time."""
    try:
        async with asyncio.timeout(seconds):
            while await asyncio.get_running_loop().sock_recv(caller, 4096):
                pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.slow
@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00", b"\x16\x03\x01\x02\x00" + 100 * b"\x00"])
def test_a_client_that_sends_almost_nothing_is_disconnected(peer: Shown, asker: Shown, said: bytes) -> None:
    async def story() -> tuple[PeerReply, list[bool]]:
        async with serving(peer, Desk()) as (address, _):
            idle = [await visit(address, said) for _ in range(2 * MOST_WAITING_FROM_ONE)]
            answer = (await ask(asker, PeerEntry(name="peer", address=address)))["peer"]
            over = await asyncio.gather(*(over_within(one, 5.0) for one in idle))
            for one in idle:
                one.close()
            return answer, over

    answer, over = asyncio.run(story())
    assert answer is PeerReply.HEALTHY
    assert all(over)


@pytest.mark.slow
def test_a_node_has_two_connections_and_the_newest_counts(peer: Shown, asker: Shown) -> None:
    async def story() -> list[bool]:
        context = client_tls(asker.certificate, asker.key, asker.authority)
        async with serving(peer, Desk()) as (address, _):
            host, _, port = address.rpartition(":")
            opened = []
            for _ in range(4):
                opened.append(
                    await asyncio.open_connection(
                        host, int(port), ssl=context, server_hostname=certified_name("peer")
                    )
                )
                await asyncio.sleep(0.2)
            over = [reader.at_eof() or reader.exception() is not None for reader, _ in opened]
            for _, writer in opened:
                writer.transport.abort()
            return over

    assert asyncio.run(story()) == [True, True, False, False]


@pytest.mark.slow
def test_a_question_that_never_ends_is_given_up(peer: Shown, asker: Shown) -> None:
    async def story() -> bytes:
        context = client_tls(asker.certificate, asker.key, asker.authority)
        async with serving(peer, Desk()) as (address, _):
            host, _, port = address.rpartition(":")
            reader, writer = await asyncio.open_connection(
                host, int(port), ssl=context, server_hostname=certified_name("peer")
            )
            writer.write(b"POST /v1/marker HTTP/1.1\r\nHost: a\r\nContent-Length: 90\r\n\r\n{")
            async with asyncio.timeout(10.0):
                reported = await reader.readuntil(b"\r\n")
            writer.transport.abort()
            return reported

    assert b"408" in asyncio.run(story())


@pytest.mark.slow
def test_the_handshakes_of_one_address_are_limited(peer: Shown, asker: Shown) -> None:
    async def story() -> tuple[int, int]:
        async with serving(peer, Desk()) as (address, door):
            answers = []
            for _ in range(2 * HANDSHAKES_FROM_ONE):
                answers += list((await ask(asker, PeerEntry(name="peer", address=address))).values())
            return answers.count(PeerReply.HEALTHY), door.turned_away

    heard, turned_away = asyncio.run(story())
    assert heard >= HANDSHAKES_FROM_ONE
    assert turned_away == 2 * HANDSHAKES_FROM_ONE - heard


HOSTILE_ADDRESSES = (
    "[]@",
    "[",
    "",
    "a b:1",
    "127.0.0.1:99999",
    "xn--a..b:1",
    "\x00:1",
    "[::1]@x:1",
    "a" * 9000,
)


@pytest.mark.attack("S1")
@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_a_peer_with_a_hostile_address_counts_as_silent_and_the_others_answer(
    peer: Shown, asker: Shown, address: str
) -> None:
    async def story() -> dict[str, PeerReply]:
        async with serving(peer, Desk()) as (good, _):
            hostile = PeerEntry(name="hostile", address=address)
            return await ask(asker, hostile, PeerEntry(name="peer", address=good))

    assert asyncio.run(story()) == {"hostile": PeerReply.SILENT, "peer": PeerReply.HEALTHY}


@pytest.mark.attack("S1")
@pytest.mark.parametrize("name", ["", ".", "a" * 300, "\ud800", "xn--\u00df", "a\x00b"])
def test_a_peer_with_a_hostile_name_is_silent(peer: Shown, asker: Shown, name: str) -> None:
    assert asked_once(peer, asker, named=name) is PeerReply.SILENT


@pytest.mark.attack("S1")
@pytest.mark.parametrize("error", [IndexError("list index out of range"), MemoryError(), RecursionError()])
def test_any_exception_from_a_peer_request_counts_as_silence(asker: Shown, error: Exception) -> None:
    def raising() -> ssl.SSLContext:
        raise error

    found = asyncio.run(ask(asker, PeerEntry(name="peer", address="127.0.0.1:1"), tls=raising))

    assert found == {"peer": PeerReply.SILENT}


@pytest.mark.attack("S1")
@pytest.mark.parametrize("error", [RuntimeError("odd"), IndexError(), ssl.SSLError()])
def test_an_exception_in_a_handshake_leaves_the_listener_open(
    peer: Shown, asker: Shown, error: Exception
) -> None:
    async def story() -> tuple[PeerReply, PeerReply, int]:
        tls, odd = server_tls(peer.certificate, peer.key, peer.authority), [error]
        listener, server = socket.create_server(("127.0.0.1", 0)), make_server(Desk(), full_belief)

        def sometimes() -> ssl.SSLContext:
            if odd:
                raise odd.pop()
            return tls

        door = PeerListener(listener, sometimes, server, full_belief)
        task = asyncio.create_task(door.run())
        entry = PeerEntry(name="peer", address=f"127.0.0.1:{listener.getsockname()[1]}")
        try:
            first = (await ask(asker, entry))["peer"]
            return first, (await ask(asker, entry))["peer"], door.turned_away
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await server.shutdown(1.0)
            listener.close()

    assert asyncio.run(story()) == (PeerReply.SILENT, PeerReply.HEALTHY, 1)


@pytest.mark.attack("S1")
@pytest.mark.parametrize(
    "said",
    [
        b"POST /v1/marker HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/marker HTTP/1.1\r\nHost: a\r\nContent-Encoding: deflate\r\nContent-Length: 2\r\n\r\n{}",
        b"POST http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x00\xff" * 500,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 3000 + b"\r\n",
    ],
)
def test_a_hostile_request_ends_its_own_connection_only(peer: Shown, asker: Shown, said: bytes) -> None:
    async def story() -> PeerReply:
        context = client_tls(asker.certificate, asker.key, asker.authority)
        async with serving(peer, Desk()) as (address, _):
            host, _, port = address.rpartition(":")
            _, writer = await asyncio.open_connection(
                host, int(port), ssl=context, server_hostname=certified_name("peer")
            )
            writer.write(said)
            await asyncio.sleep(0.2)
            writer.transport.abort()
            return (await ask(asker, PeerEntry(name="peer", address=address)))["peer"]

    assert asyncio.run(story()) is PeerReply.HEALTHY
