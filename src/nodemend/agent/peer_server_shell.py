"""Answers peers over mutual TLS, by aiohttp."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from nodemend.agent.peer_protocol import LONGEST, PATH, answer_to, read_question
from nodemend.api.certified_names import node_of
from nodemend.decide.peer_verdict import Answer

_WITHIN: Final = 2.5
"""Seconds for an answer: less than what a peer waits for it."""
_KEEP_OPEN: Final = 60.0
_BODY_WITHIN: Final = 2.0

Desk = Callable[[str, str, str, float], Awaitable[Answer]]
"""Node, Node UID, boot ID, seconds."""


def server_tls(certificate: str, key: str, authority: str) -> ssl.SSLContext:
    """Nobody is let in without a certificate of this authority, nor with less than TLS 1.3."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    # Who comes back by a ticket shows no certificate: it may be over by then.
    context.num_tickets = 0
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    return context


def make_server(desk: Desk) -> web.Server:
    """Its protocols are for the front door."""

    async def handle(request: web.BaseRequest) -> web.Response:
        transport = request.transport
        node = node_shown(transport) if transport is not None else None
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
        return web.Response(body=msgspec.json.encode(answer_to(question, answer)))

    return web.Server(
        handle,
        access_log=None,
        keepalive_timeout=_KEEP_OPEN,
        lingering_time=_BODY_WITHIN,
        # A few compressed bytes can become gigabytes.
        auto_decompress=False,
    )


def node_shown(transport: asyncio.BaseTransport) -> str | None:
    """The node whose certificate this connection showed."""
    shown = transport.get_extra_info("peercert") or {}
    names = [value for kind, value in shown.get("subjectAltName", ()) if kind == "DNS"]
    return node_of(tuple(names))
