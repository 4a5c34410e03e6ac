"""Carries requests to API servers through aiohttp (HTTP/1.1): the production Transport and Connector.

One request, one attempt, one absolute deadline. Nothing is retried, redirected, proxied or decompressed here:
only the caller can judge the outcome of a request, so it gets the outcome unchanged. A Transport serves one
API server. The Connector opens Transports to other clusters.
"""

import asyncio
import os
import socket
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from typing import Final, TypeVar
from weakref import WeakSet

import aiohttp
from yarl import URL

from nodemend import __version__
from nodemend.kube.credentials import CredentialsError
from nodemend.kube.credentials_io import LiveCredentials, NoRequestIdentity
from nodemend.kube.outcome import LONGEST_WAIT, ApiResponse, Reply, Unanswered, Unsent
from nodemend.kube.ports import CannotConnect, Runtime, Stream, StreamEnded, StreamSilent
from nodemend.kube.request import Request

T = TypeVar("T")

LONGEST_BODY = 256 * 1024 * 1024
"""Bytes of one response of this cluster's API server. A page of 500 objects is some megabytes."""
LONGEST_DATE = 64
"""Characters. An HTTP date has 29."""
_LAST_MOMENT = 253402300799.0
"""The end of the year 9999."""
_READ_BUFFER_BYTES = 1024 * 1024
_LONGEST_REASON = 500
_CLOSING_SECONDS = 0.5
_CLOSING_POLL_SECONDS = 0.005
_UNLIMITED = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class _LostConnection(aiohttp.ClientError):
    """The connection ended during a request. aiohttp does not know this type, so it does not retry."""


async def _attempt_once(
    request: aiohttp.ClientRequest,
    handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]],
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostConnection(_explain(error)) from error


@dataclass(slots=True)
class _Fate:
    """Records if a request had a connection to be sent on. From then on it may have reached the server."""

    may_have_left: bool = False


async def _note_connection(
    _session: aiohttp.ClientSession, context: SimpleNamespace, _params: object
) -> None:
    context.trace_request_ctx.may_have_left = True


class HttpTransport:
    """Carries requests to one API server. `connections` bounds the pool; each open stream holds one.

    With `kept`, a connection serves one request after another; without, it is closed after the first.
    `headers` are sent with every request.
    """

    def __init__(
        self,
        credentials: LiveCredentials,
        runtime: Runtime,
        *,
        connections: int = 32,
        kept: bool = True,
        longest_body: int = LONGEST_BODY,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_create_end.append(_note_connection)
        tracing.on_connection_reuseconn.append(_note_connection)
        self._credentials = credentials
        self._runtime = runtime
        self._longest_body = longest_body
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections, force_close=not kept, socket_factory=self._new_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=(
                ("User-Agent", f"nodemend/{__version__}"),
                ("Accept", "application/json"),
                ("Accept-Encoding", "identity"),
                *headers,
            ),
            timeout=_UNLIMITED,
            trust_env=False,
            auto_decompress=False,
            read_bufsize=_READ_BUFFER_BYTES,
            trace_configs=[tracing],
            middlewares=(_attempt_once,),
        )

    async def close(self) -> None:
        await self._session.close()
        await self._credentials.close()
        # asyncio closes the socket of a request that was cancelled during its TLS handshake only when the
        # handshake ends. The session does not know that connection, so wait for such sockets here.
        deadline = self._runtime.monotonic() + _CLOSING_SECONDS
        while self._has_open_sockets() and self._runtime.monotonic() < deadline:
            await self._runtime.sleep(_CLOSING_POLL_SECONDS)

    def _new_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    def _has_open_sockets(self) -> bool:
        return any(one.fileno() != -1 for one in self._sockets)

    async def send(self, request: Request, deadline: float) -> Reply:
        return await self._by_deadline(request, deadline, self._send)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self._by_deadline(request, deadline, self._open)

    async def _by_deadline(
        self, request: Request, deadline: float, act: Callable[[Request, _Fate], Awaitable[T]]
    ) -> T | Unsent | Unanswered:
        fate = _Fate()
        try:
            async with asyncio.timeout(deadline - self._runtime.monotonic()):
                return await act(request, fate)
        except TimeoutError:
            why = "no answer by the deadline" if fate.may_have_left else "no connection by the deadline"
        except Exception as error:  # noqa: BLE001 - a fault of one server must end only one request; see tests/tidy
            why = _explain(error)
        return Unanswered(why) if fate.may_have_left else Unsent(why)

    async def _send(self, request: Request, fate: _Fate) -> Reply:
        response = await self._ask(request, fate)
        if isinstance(response, Unsent):
            return response
        async with response:
            return await _whole(response, self._longest_body)

    async def _open(self, request: Request, fate: _Fate) -> Stream | Reply:
        response = await self._ask(request, fate)
        if isinstance(response, Unsent):
            return response
        if response.status == 200:
            return HttpStream(response)
        async with response:
            return await _whole(response, self._longest_body)

    async def _ask(self, request: Request, fate: _Fate) -> aiohttp.ClientResponse | Unsent:
        presented = await self._credentials.present()
        if isinstance(presented, NoRequestIdentity):
            return Unsent(presented.why)
        headers = {"Content-Type": request.content.value} if request.body else {}
        if presented.authorization:
            headers["Authorization"] = presented.authorization
        response = await self._session.request(
            request.method.value,
            URL(self._credentials.server + request.target, encoded=True),
            data=request.body or None,
            headers=headers,
            allow_redirects=False,
            ssl=presented.tls if presented.tls is not None else True,
            server_hostname=self._credentials.server_name or None,
            trace_request_ctx=fate,
        )
        if response.status == 401:
            self._credentials.reject(presented)
        return response


class HttpStream:
    """The response body of a watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def read(self, within: float) -> bytes | StreamSilent | StreamEnded:
        content = self._response.content
        try:
            # Read data that has already arrived without a timer: under load most reads end here.
            data = content.read_nowait()
            if not data:
                async with asyncio.timeout(within):
                    data = await content.readany()
        except TimeoutError:
            return StreamSilent()
        except Exception as error:  # noqa: BLE001 - a fault of one server must end only one stream; see tests/tidy
            return StreamEnded(clean=False, why=_explain(error))
        return data or StreamEnded(clean=True, why="the server closed the stream")

    def close(self) -> None:
        """Abort the connection. A clean end of TLS would wait half a minute for a peer that is gone."""
        connection = self._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._response.close()


async def _whole(response: aiohttp.ClientResponse, longest: int) -> Reply:
    pieces: list[bytes] = []
    length = 0
    while piece := await response.content.readany():
        pieces.append(piece)
        length += len(piece)
        if length > longest:
            # The connection cannot be reused: the rest of the body would have to be read first.
            response.close()
            return Unanswered(f"the answer is longer than {longest} bytes")
    server_time = read_http_date(response.headers.get("Date", ""))
    retry_after = read_retry_after(response.headers.get("Retry-After", ""), server_time)
    return ApiResponse(response.status, b"".join(pieces), retry_after, server_time)


def read_http_date(text: str) -> float | None:
    """Seconds since the epoch, or None if `text` is not an HTTP date."""
    if not text.isascii() or len(text) > LONGEST_DATE:
        return None
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return moment if 0.0 <= moment <= _LAST_MOMENT else None


def read_retry_after(text: str, server_time: float | None) -> float | None:
    """Seconds to wait: a number, or a date, which has a meaning only relative to the server's own clock."""
    number = text.strip()
    if len(number) <= LONGEST_DATE and number.isascii() and number.isdigit():
        return min(float(number), LONGEST_WAIT)
    until = read_http_date(text)
    if until is None or server_time is None:
        return None
    return min(max(until - server_time, 0.0), LONGEST_WAIT)


def _explain(error: BaseException) -> str:
    """An explanation for people: aiohttp's own messages about connections name objects of this program."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = str(error.certificate_error)[:_LONGEST_REASON]
        return f"{error.host}:{error.port} shows a certificate that is not trusted: {why}"
    if isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno or 0
        why = os.strerror(number) if number > 0 else str(error.os_error.strerror or error.os_error)
        return f"no connection to {error.host}:{error.port}: {why[:_LONGEST_REASON]}"
    text = str(error)[:_LONGEST_REASON]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


CONNECTIONS: Final = 4
"""Connections to one cluster: a watch, a list, and reads beside them."""


LONGEST_FOREIGN_BODY: Final = 32 * 1024 * 1024
"""Bytes of one response: 64 KB for each Node of a full page; 14 KB are usual."""
_TLS_BUFFER_BYTES: Final = 16 * 1024
"""One record of TLS."""


_CONCURRENT_LOOKUPS: Final = 64


def expect_many_clusters() -> None:
    """Prepare the process for a thousand idle connections. Call it once, in the running loop.

    Python gives each connection a buffer of 256 KiB, and another one grows to the same size when a list
    arrives: half a gigabyte without a use. Python has no setting for the size, only this class attribute.
    With the smaller buffer, events of 10 KB at full speed cost some 15 microseconds more each.

    Threads resolve names, and by default there is only a handful. A name whose servers do not answer occupies
    a thread for the better part of a minute, and must not delay other clusters.
    """
    SSLProtocol.max_size = _TLS_BUFFER_BYTES
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_CONCURRENT_LOOKUPS, "look-up"))


class HttpConnector:
    """Every transport has its own connections: one cluster's failure does not affect the others."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def connect(self, kubeconfig: str) -> HttpTransport | CannotConnect:
        """The text is foreign: any exception that it causes is a failure of that cluster alone."""
        try:
            return await self._connect(kubeconfig)
        except Exception as error:  # noqa: BLE001 - one cluster's data must not end the checker; see tests/tidy
            return CannotConnect(f"it cannot be read ({type(error).__name__})")

    async def _connect(self, kubeconfig: str) -> HttpTransport | CannotConnect:
        try:
            # An agent connects to no other cluster, and has no megabyte to spare for YAML.
            from nodemend.kube.kubeconfig import read_foreign_kubeconfig  # noqa: PLC0415

            connection = read_foreign_kubeconfig(kubeconfig)
        except CredentialsError as error:
            return CannotConnect(str(error))
        credentials = LiveCredentials(connection, self._runtime)
        presented = await credentials.present()
        if isinstance(presented, NoRequestIdentity):
            await credentials.close()
            return CannotConnect(presented.why)
        # A watch on the connection of a list would keep the buffers of that list for as long as it runs.
        return HttpTransport(
            credentials,
            self._runtime,
            connections=CONNECTIONS,
            kept=False,
            longest_body=LONGEST_FOREIGN_BODY,
        )
