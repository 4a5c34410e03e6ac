"""Answers peers over mutual TLS, by aiohttp."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from nodemend.agent.peer_protocol import LONGEST, PATH, answer_to, read_question
from nodemend.api.certified_names import node_of
from nodemend.decide.certificate_belief import Belief
from nodemend.decide.peer_verdict import Answer

_WITHIN: Final = 2.5
"""Seconds for an answer: less than what a peer waits for it."""
_KEEP_OPEN: Final = 60.0
NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME: chain, name, usage and authority are checked, times are not."""
_BODY_WITHIN: Final = 2.0

Shown = Mapping[str, Any]
"""A certificate as `ssl` tells of it."""
Desk = Callable[[str, str, str, float], Awaitable[Answer]]
"""Node, Node UID, boot ID, seconds."""
Believe = Callable[[Shown], Belief]
"""What a certificate is worth whose times TLS has not checked."""


def server_tls(certificate: str, key: str, authority: str) -> ssl.SSLContext:
    """Nobody is let in without a certificate of this authority, nor with less than TLS 1.3.

    Its times are not checked here: whoever uses the connection asks what it is worth.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    # Who comes back by a ticket shows no certificate: it may be over by then.
    context.num_tickets = 0
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_flags |= NO_CHECK_TIME
    return context


def make_server(desk: Desk, believe: Believe) -> web.Server:
    """Its protocols are for the front door."""

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
            # Mostly it has come with the rest: then a timer would be the dearest part of a refusal.
            async with asyncio.timeout(None if request.content.is_eof() else _BODY_WITHIN):
                question = read_question(await request.read())
        except TimeoutError:
            return web.Response(status=408)
        if question is None:
            return web.Response(status=400)
        answer = await desk(node, question.node_uid, question.boot_id, _WITHIN)
        if transport is None or not believe(certificate_shown(transport)).admits(answer):
            answer = Answer.SILENT
        return web.Response(body=msgspec.json.encode(answer_to(question, answer)))

    return web.Server(
        handle,
        access_log=None,
        keepalive_timeout=_KEEP_OPEN,
        lingering_time=_BODY_WITHIN,
        # A few compressed bytes can become gigabytes.
        auto_decompress=False,
    )


def certificate_shown(transport: asyncio.BaseTransport) -> Shown:
    """As the other side of a connection showed it; empty where it showed none, or is gone."""
    return transport.get_extra_info("peercert") or {}


def node_shown(transport: asyncio.BaseTransport, believe: Believe) -> str | None:
    """The node whose certificate this connection showed; None where it is worth nothing."""
    shown = certificate_shown(transport)
    if not shown or believe(shown) is Belief.NONE:
        return None
    names = [value for kind, value in shown.get("subjectAltName", ()) if kind == "DNS"]
    return node_of(tuple(names))
