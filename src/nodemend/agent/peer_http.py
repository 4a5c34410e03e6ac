"""Questions and answers between agents over mutual TLS: messages, server, client, and limits on connections.

A certificate proves the identity of the node that asks, not the message: a node can ask only about itself. An
answer repeats its subject and an unpredictable number, so that no answer can be stored and replayed.

A TLS connection costs a quarter of a megabyte and some milliseconds before its node is known. So a connection
without data waits as a bare socket, and the kernel wakes no task before enough bytes for a handshake have
arrived; handshakes are limited per second and in number, and end within two seconds; and a node that has
proved its identity has only a few slots. An idle connection never keeps its slot: the next connection takes
it over.
"""

import asyncio
import contextlib
import gc
import secrets
import socket
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final, Generic, TypeVar, cast

import aiohttp
import msgspec
from aiohttp import web
from aiohttp.connector import Connection
from yarl import URL

from nodemend.agent.peer_responder import PerPeerRateLimit
from nodemend.api.agent import PeerEntry, certified_name, node_of
from nodemend.api.meta import Wire
from nodemend.api.value_forms import BootId, Uid, is_node_name, parse_address
from nodemend.kube.flowcontrol import Rate, TokenBucket
from nodemend.kube.outcome import DECODE_ERRORS, decoder_of
from nodemend.kube.ports import Runtime
from nodemend.protocol.peers import CertificateTrust, PeerReply

ConnectionT = TypeVar("ConnectionT", bound=Hashable)


@dataclass(slots=True)
class ConnectionSlots(Generic[ConnectionT]):
    """Connection slots, limited in total and per source.

    Every new connection gets a slot, and another is evicted for it if necessary: a connection that kept its
    slot by doing nothing could keep all others out. At the limit per source, the oldest of that source is
    evicted; at the total limit, the oldest of the sources that have the most.
    """

    most: int
    most_from_one: int
    _guests: dict[ConnectionT, str] = field(default_factory=dict)

    def come(self, guest: ConnectionT, source: str) -> ConnectionT | None:
        """Add a connection; return the one to evict for it, if any."""
        leaving = self._who_leaves(source)
        if leaving is not None:
            del self._guests[leaving]
        self._guests[guest] = source
        return leaving

    def leave(self, guest: ConnectionT) -> None:
        """Remove a connection. Has no effect on one that was evicted before."""
        self._guests.pop(guest, None)

    def _who_leaves(self, source: str) -> ConnectionT | None:
        held = Counter(self._guests.values())
        if held[source] >= self.most_from_one:
            return self._oldest_of({source})
        if len(self._guests) < self.most:
            return None
        greatest = max(held.values())
        return self._oldest_of({one for one, count in held.items() if count == greatest})

    def _oldest_of(self, sources: set[str]) -> ConnectionT:
        return next(guest for guest, source in self._guests.items() if source in sources)


PATH: Final = "/v1/marker"
LONGEST: Final = 4096
"""Maximum bytes of a question or an answer."""


_Nonce = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class PeerQuestion(Wire):
    """Asks whether there is a marker for this boot of the sender."""

    nonce: _Nonce
    node_uid: Uid
    boot_id: BootId


class PeerAnswer(PeerQuestion):
    """Repeats its question."""

    answer: PeerReply


def answer_to(question: PeerQuestion, answer: PeerReply) -> PeerAnswer:
    return PeerAnswer(
        nonce=question.nonce, node_uid=question.node_uid, boot_id=question.boot_id, answer=answer
    )


def read_question(body: bytes) -> PeerQuestion | None:
    """Return the question; None if the body is not one."""
    try:
        return decoder_of(PeerQuestion).decode(body)
    except DECODE_ERRORS:
        return None


def read_answer(body: bytes, question: PeerQuestion) -> PeerReply:
    """Return the answer; SILENT if the body is not an answer to this question."""
    try:
        found = decoder_of(PeerAnswer).decode(body)
    except DECODE_ERRORS:
        return PeerReply.SILENT
    return found.answer if found == answer_to(question, found.answer) else PeerReply.SILENT


_WITHIN: Final = 2.5
"""Seconds for an answer: less than a peer waits for it."""
_SERVER_KEEPALIVE: Final = 60.0
NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME: OpenSSL checks chain, name, usage and authority, but not the times."""
_BODY_WITHIN: Final = 2.0

PresentedCertificate = Mapping[str, Any]
"""A certificate in the form that `ssl` returns."""
AnswerQuestion = Callable[[str, str, str, float], Awaitable[PeerReply]]
"""Takes node, Node UID, boot ID and seconds."""
EvaluateCertificate = Callable[[PresentedCertificate], CertificateTrust]
"""Returns the trust in a certificate whose times TLS has not checked."""


def server_tls(certificate: str, key: str, authority: str) -> ssl.SSLContext:
    """Return a context that requires TLS 1.3 and a client certificate of this authority.

    It does not check the certificate's times: each user of a connection checks the trust in it.
    """
    context = _tls(ssl.PROTOCOL_TLS_SERVER, certificate, key, authority)
    context.verify_mode = ssl.CERT_REQUIRED
    # A client that resumes by a ticket shows no certificate, and its earlier one may have expired.
    context.num_tickets = 0
    return context


def client_tls(certificate: str, key: str, authority: str) -> ssl.SSLContext:
    """Return a context for TLS 1.3 that trusts only this authority; each connection checks the name.

    It does not check the certificate's times: each answer is judged by the trust in its certificate.
    """
    return _tls(ssl.PROTOCOL_TLS_CLIENT, certificate, key, authority)


def _tls(side: int, certificate: str, key: str, authority: str) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_flags |= NO_CHECK_TIME
    return context


def make_server(responder: AnswerQuestion, believe: EvaluateCertificate) -> web.Server:
    """Return a server whose protocols are for the accepted connections of the listener."""

    async def handle(request: web.BaseRequest) -> web.Response:
        transport = request.transport
        node = node_shown(transport, believe) if transport is not None else None
        if node is None:
            return web.Response(status=403)
        if (request.method, request.path) != ("POST", PATH):
            return web.Response(status=404)
        if request.content_length is None or request.content_length > LONGEST:
            return web.Response(status=413)
        try:
            # Usually the body has arrived with the headers; then a timer would be the most expensive part of
            # a refusal.
            async with asyncio.timeout(None if request.content.is_eof() else _BODY_WITHIN):
                question = read_question(await request.read())
        except TimeoutError:
            return web.Response(status=408)
        if question is None:
            return web.Response(status=400)
        answer = await responder(node, question.node_uid, question.boot_id, _WITHIN)
        if transport is None or not believe(certificate_shown(transport)).admits(answer):
            answer = PeerReply.SILENT
        return web.Response(body=msgspec.json.encode(answer_to(question, answer)))

    return web.Server(
        handle,
        access_log=None,
        keepalive_timeout=_SERVER_KEEPALIVE,
        lingering_time=_BODY_WITHIN,
        # A few compressed bytes can expand to gigabytes.
        auto_decompress=False,
    )


def certificate_shown(transport: asyncio.BaseTransport) -> PresentedCertificate:
    """Return the other side's certificate; empty if it sent none, or the connection is closed."""
    return transport.get_extra_info("peercert") or {}


def node_shown(transport: asyncio.BaseTransport, believe: EvaluateCertificate) -> str | None:
    """Return the node in the connection's certificate; None if the certificate has no trust."""
    shown = certificate_shown(transport)
    if not shown or believe(shown) is CertificateTrust.NONE:
        return None
    names = [value for kind, value in shown.get("subjectAltName", ()) if kind == "DNS"]
    return node_of(tuple(names))


@dataclass(eq=False)
class PeerConnection(asyncio.Protocol):
    """Forwards all calls to another protocol, and reports when the connection begins and ends."""

    greet: Callable[[], asyncio.Protocol]
    believe: EvaluateCertificate
    begins: Callable[["PeerConnection", str], None]
    over: Callable[["PeerConnection"], None]
    arrived: bool = False
    _inner: asyncio.Protocol = field(default_factory=asyncio.Protocol)
    _transport: asyncio.Transport | None = None

    def end(self) -> None:
        """End at once: an orderly end would wait for an answer."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        node = node_shown(transport, self.believe)
        self._transport = cast("asyncio.Transport", transport)
        if node is None:
            self.end()
            return
        self.arrived = True
        self._inner = self.greet()
        self._inner.connection_made(transport)
        self.begins(self, node)

    def connection_lost(self, error: Exception | None) -> None:
        try:
            self._inner.connection_lost(error)
        finally:
            self.over(self)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


_CONNECTIONS: Final = 16
_CLIENT_KEEPALIVE: Final = 50.0
"""Seconds. Shorter than the server's, so that no request uses a connection which its server has just
closed."""


class _Reply(aiohttp.ClientResponse):
    """Remembers the certificate of its connection, which is released before the body is read."""

    shown: PresentedCertificate = MappingProxyType({})

    async def start(self, connection: Connection) -> "_Reply":
        if connection.transport is not None:
            self.shown = certificate_shown(connection.transport)
        await super().start(connection)
        return self


@dataclass(slots=True)
class TlsPeerClient:
    """Production implementation of the Peers port."""

    node_uid: str
    boot_id: str
    runtime: Runtime
    tls: Callable[[], ssl.SSLContext]
    believe: EvaluateCertificate
    _session: aiohttp.ClientSession = field(init=False)

    def __post_init__(self) -> None:
        connector = aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_CLIENT_KEEPALIVE)
        self._session = aiohttp.ClientSession(
            connector=connector,
            trust_env=False,
            raise_for_status=True,
            # A few compressed bytes can expand to gigabytes.
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=_Reply,
        )

    async def close(self) -> None:
        await self._session.close()

    async def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, PeerReply], None]:
        within = deadline - self.runtime.monotonic()
        asking = [asyncio.create_task(self._ask_or_silent(peer, within)) for peer in peers]
        try:
            for reported in asyncio.as_completed(asking):
                yield await reported
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _ask_or_silent(self, peer: PeerEntry, within: float) -> tuple[str, PeerReply]:
        """Return SILENT for any failure: the address, the name and the reply come from another node."""
        try:
            return peer.name, await self._ask(peer, within)
        except Exception:  # noqa: BLE001 - one peer's data must not end the agent; tests/tidy lists this place
            return peer.name, PeerReply.SILENT

    async def _ask(self, peer: PeerEntry, within: float) -> PeerReply:
        address = parse_address(peer.address)
        if address is None or not is_node_name(peer.name):
            return PeerReply.SILENT
        question = PeerQuestion(nonce=secrets.token_hex(16), node_uid=self.node_uid, boot_id=self.boot_id)
        async with (
            asyncio.timeout(within),
            self._session.post(
                URL.build(scheme="https", host=address.host, port=address.port, path=PATH),
                data=msgspec.json.encode(question),
                ssl=self.tls(),
                server_hostname=certified_name(peer.name),
                allow_redirects=False,
            ) as reply,
        ):
            if (reply.content_length or LONGEST + 1) > LONGEST:
                return PeerReply.SILENT
            answer, shown = read_answer(await reply.read(), question), cast("_Reply", reply).shown
            return answer if shown and self.believe(shown).admits(answer) else PeerReply.SILENT


_LEAST: Final = 64
"""Bytes. The first message of a TLS client has at least twice as many, sent at once."""


async def wait_for_bytes(caller: socket.socket, within: float) -> bool:
    """True if enough bytes arrived in time. None of them is consumed. Raises OSError."""
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _LEAST)
    try:
        async with asyncio.timeout(within):
            await _readable(caller)
    except TimeoutError:
        return False
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    # A closed connection is readable, too.
    return len(caller.recv(_LEAST, socket.MSG_PEEK)) == _LEAST


async def _readable(caller: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    woken = loop.create_future()

    def wake() -> None:
        loop.remove_reader(caller)
        if not woken.done():
            woken.set_result(None)

    loop.add_reader(caller, wake)
    try:
        await woken
    finally:
        loop.remove_reader(caller)


MOST_WAITING: Final = 128
MOST_WAITING_FROM_ONE: Final = 8
"""Connections of one address that have sent no data yet."""
MOST_ARRIVING: Final = 32
MOST_ARRIVING_FROM_ONE: Final = 4
"""Connections of one address that have not proved their node yet."""
MOST_INSIDE: Final = 64
MOST_INSIDE_OF_ONE: Final = 2
"""Connections of one node. An agent has one, and another if it assumes that the first is lost."""
HANDSHAKES_A_SECOND: Final = 100
HANDSHAKES_FROM_ONE: Final = 20
"""At once; half as many per second after that."""
_SPEAKS_WITHIN: Final = 2.0
_HANDSHAKE_WITHIN: Final = 2.0
_GOODBYE_WITHIN: Final = 1.0
_PAUSE_AFTER_ERROR: Final = 0.1
_SWEPT_AFTER: Final = 32
"""Handshakes between two garbage collections. TLS connections end as reference cycles, and by itself the
collector leaves hundreds of them."""


@dataclass
class PeerListener:
    """Serves one listening socket. `greet` returns the protocol of each accepted connection.

    `tls` is called for each connection, because certificates change.
    """

    listener: socket.socket
    tls: Callable[[], ssl.SSLContext]
    greet: Callable[[], asyncio.Protocol]
    believe: EvaluateCertificate
    turned_away: int = 0

    def __post_init__(self) -> None:
        self._from_one = PerPeerRateLimit(Rate(HANDSHAKES_FROM_ONE / 2, HANDSHAKES_FROM_ONE))
        self._from_all = TokenBucket(Rate(HANDSHAKES_A_SECOND, HANDSHAKES_A_SECOND))
        self._waiting: ConnectionSlots[_NewConnection] = ConnectionSlots(MOST_WAITING, MOST_WAITING_FROM_ONE)
        self._arriving: ConnectionSlots[_NewConnection] = ConnectionSlots(
            MOST_ARRIVING, MOST_ARRIVING_FROM_ONE
        )
        self._inside: ConnectionSlots[PeerConnection] = ConnectionSlots(MOST_INSIDE, MOST_INSIDE_OF_ONE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unswept = 0

    async def run(self) -> None:
        """Run until cancelled."""
        loop = asyncio.get_running_loop()
        self.listener.setblocking(False)
        try:
            while True:
                try:
                    caller, address = await loop.sock_accept(self.listener)
                except OSError:
                    # Out of descriptors, or the client has already closed the connection.
                    await asyncio.sleep(_PAUSE_AFTER_ERROR)
                    continue
                self._receive(caller, str(address[0]))
        finally:
            for task in self._tasks:
                task.cancel()

    def _receive(self, caller: socket.socket, source: str) -> None:
        arrival = _NewConnection(
            caller, source, PeerConnection(self.greet, self.believe, self._admit, self._inside.leave)
        )
        _evict(self._waiting.come(arrival, source))
        arrival.task = asyncio.get_running_loop().create_task(self._let_in(arrival))
        self._tasks.add(arrival.task)
        arrival.task.add_done_callback(lambda task: self._see_off(arrival, task))

    async def _let_in(self, arrival: "_NewConnection") -> None:
        try:
            if await wait_for_bytes(arrival.caller, _SPEAKS_WITHIN) and self._may_shake_hands(arrival):
                await self._shake_hands(arrival)
        except Exception:  # noqa: BLE001 - one caller's bytes must not end the agent; tests/tidy lists this place
            # No certificate, another authority's, too old a protocol, an unfinished handshake, a closed
            # connection, or bytes that a library does not expect. `_see_off` counts it.
            return

    def _may_shake_hands(self, arrival: "_NewConnection") -> bool:
        now = asyncio.get_running_loop().time()
        return self._from_one.take(arrival.source, now) and self._from_all.take(now) == 0.0

    async def _shake_hands(self, arrival: "_NewConnection") -> None:
        self._waiting.leave(arrival)
        _evict(self._arriving.come(arrival, arrival.source))
        self._sweep()
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: arrival.guest,
            arrival.caller,
            ssl=self.tls(),
            ssl_handshake_timeout=_HANDSHAKE_WITHIN,
            ssl_shutdown_timeout=_GOODBYE_WITHIN,
        )

    def _see_off(self, arrival: "_NewConnection", task: "asyncio.Task[None]") -> None:
        """Clean up after a connection, also if it was evicted before its task started."""
        self._tasks.discard(task)
        self._waiting.leave(arrival)
        self._arriving.leave(arrival)
        if not arrival.guest.arrived:
            self.turned_away += 1
            with contextlib.suppress(OSError):
                arrival.caller.close()

    def _sweep(self) -> None:
        self._unswept += 1
        if self._unswept == _SWEPT_AFTER:
            self._unswept = 0
            gc.collect()

    def _admit(self, guest: PeerConnection, node: str) -> None:
        _evict(self._inside.come(guest, node))


def _evict(displaced: "_NewConnection | PeerConnection | None") -> None:
    if displaced is not None:
        displaced.end()


@dataclass(eq=False, slots=True)
class _NewConnection:
    """A connection that has not proved its node yet, with its future protocol."""

    caller: socket.socket
    source: str
    guest: PeerConnection
    task: asyncio.Task[None] | None = None

    def end(self) -> None:
        if self.task is not None:
            self.task.cancel()
