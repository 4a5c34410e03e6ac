"""Asks peers over mutual TLS, by aiohttp: all at once, each once, until one deadline."""

import asyncio
import secrets
import ssl
from collections.abc import AsyncGenerator, Callable
from types import MappingProxyType
from typing import Final, cast

import aiohttp
import msgspec
from aiohttp.connector import Connection
from yarl import URL

from nodemend.agent.peer_protocol import LONGEST, PATH, PeerQuestion, read_answer
from nodemend.agent.peer_server_shell import NO_CHECK_TIME, Believe, Shown, certificate_shown
from nodemend.api.agent_lease import PeerEntry
from nodemend.api.certified_names import certified_name
from nodemend.api.value_forms import is_node_name, parse_address
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.ports import Runtime

_CONNECTIONS: Final = 16
_KEEP_OPEN: Final = 50.0
"""Less than a server does, so that none is used which its server has just closed."""


def client_tls(certificate: str, key: str, authority: str) -> ssl.SSLContext:
    """Only this authority is believed, and only TLS 1.3 spoken; the name is checked at each connection.

    The certificate's times are not checked here: each answer is weighed by what its certificate is worth.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_flags |= NO_CHECK_TIME
    return context


class _Reply(aiohttp.ClientResponse):
    """Remembers which certificate its connection showed: that is given back before the body is read."""

    shown: Shown = MappingProxyType({})

    async def start(self, connection: Connection) -> "_Reply":
        if connection.transport is not None:
            self.shown = certificate_shown(connection.transport)
        await super().start(connection)
        return self


class TlsPeers:
    """The Peers port as production has it."""

    def __init__(
        self,
        node_uid: str,
        boot_id: str,
        runtime: Runtime,
        tls: Callable[[], ssl.SSLContext],
        believe: Believe,
    ) -> None:
        self._node_uid = node_uid
        self._boot_id = boot_id
        self._runtime = runtime
        self._tls = tls
        self._believe = believe
        connector = aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_KEEP_OPEN)
        self._session = aiohttp.ClientSession(
            connector=connector,
            trust_env=False,
            raise_for_status=True,
            # A few compressed bytes can become gigabytes.
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=_Reply,
        )

    async def close(self) -> None:
        await self._session.close()

    async def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, Answer], None]:
        within = deadline - self._runtime.monotonic()
        asking = [asyncio.create_task(self._ask_or_silent(peer, within)) for peer in peers]
        try:
            for told in asyncio.as_completed(asking):
                yield await told
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _ask_or_silent(self, peer: PeerEntry, within: float) -> tuple[str, Answer]:
        """SILENT for any failure. The address, the name and the reply come from another node."""
        try:
            return peer.name, await self._ask(peer, within)
        except Exception:  # noqa: BLE001 - one peer's data must not end the agent; tests/tidy lists this place
            return peer.name, Answer.SILENT

    async def _ask(self, peer: PeerEntry, within: float) -> Answer:
        address = parse_address(peer.address)
        if address is None or not is_node_name(peer.name):
            return Answer.SILENT
        question = PeerQuestion(nonce=secrets.token_hex(16), node_uid=self._node_uid, boot_id=self._boot_id)
        async with (
            asyncio.timeout(within),
            self._session.post(
                URL.build(scheme="https", host=address.host, port=address.port, path=PATH),
                data=msgspec.json.encode(question),
                ssl=self._tls(),
                server_hostname=certified_name(peer.name),
                allow_redirects=False,
            ) as reply,
        ):
            if (reply.content_length or LONGEST + 1) > LONGEST:
                return Answer.SILENT
            answer, shown = read_answer(await reply.read(), question), cast("_Reply", reply).shown
            return answer if shown and self._believe(shown).admits(answer) else Answer.SILENT
