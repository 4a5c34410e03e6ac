"""Asks peers over mutual TLS, by aiohttp: all at once, each once, until one deadline."""

import asyncio
import secrets
import ssl
from collections.abc import AsyncGenerator, Callable
from typing import Final

import aiohttp
import msgspec

from nodemend.agent.peer_protocol import LONGEST, PATH, PeerQuestion, read_answer
from nodemend.api.agent_lease import PeerEntry
from nodemend.api.certified_names import certified_name
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.ports import Runtime

_CONNECTIONS: Final = 16
_KEEP_OPEN: Final = 50.0
"""Less than a server does, so that none is used which its server has just closed."""


def client_tls(certificate: str, key: str, authority: str) -> ssl.SSLContext:
    """Only this authority is believed, and only TLS 1.3 spoken; the name is checked at each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    return context


class TlsPeers:
    """The Peers port as production has it."""

    def __init__(
        self, node_uid: str, boot_id: str, runtime: Runtime, tls: Callable[[], ssl.SSLContext]
    ) -> None:
        self._node_uid = node_uid
        self._boot_id = boot_id
        self._runtime = runtime
        self._tls = tls
        connector = aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=_KEEP_OPEN)
        self._session = aiohttp.ClientSession(connector=connector, trust_env=False, raise_for_status=True)

    async def close(self) -> None:
        await self._session.close()

    async def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, Answer], None]:
        within = deadline - self._runtime.monotonic()
        asking = [asyncio.create_task(self._ask(peer, within)) for peer in peers]
        try:
            for told in asyncio.as_completed(asking):
                yield await told
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, peer: PeerEntry, within: float) -> tuple[str, Answer]:
        """SILENT for whatever went wrong: which of it does not matter to who asks."""
        question = PeerQuestion(nonce=secrets.token_hex(16), node_uid=self._node_uid, boot_id=self._boot_id)
        try:
            async with (
                asyncio.timeout(within),
                self._session.post(
                    f"https://{peer.address}{PATH}",
                    data=msgspec.json.encode(question),
                    ssl=self._tls(),
                    server_hostname=certified_name(peer.name),
                    allow_redirects=False,
                ) as reply,
            ):
                if (reply.content_length or LONGEST + 1) > LONGEST:
                    return peer.name, Answer.SILENT
                body = await reply.read()
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return peer.name, Answer.SILENT
        return peer.name, read_answer(body, question)
