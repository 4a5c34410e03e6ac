"""Faults between a watcher and its API server."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec


class Fault(StrEnum):
    """The effect of a proxy on watches (and on lists, if noted) while the fault is set."""

    NONE = "no fault"
    CUT = "cut mid-line"
    CLOSE = "closed at once"
    STALL = "stall"
    HALF_OPEN = "half-open connection"
    SLOW = "slow bytes"
    GONE = "410"
    GONE_EVENT = "410 as an event"
    BUSY = "429"
    BROKEN = "500"
    GARBAGE = "garbage"
    GARBAGE_FRAMES = "garbage between frames"
    RESET = "connections reset"
    MUTE = "no answer"


@dataclass(frozen=True, slots=True)
class SentRequest:
    """The properties of a request that faults depend on."""

    watches: bool
    lists: bool
    """A list: by pages, or as the beginning of a watch."""


def instead_of_answer(fault: Fault, asked: SentRequest) -> bytes | None:
    """The reply that the client gets instead of the server's; None if the server gets the request."""
    match fault:
        case Fault.BUSY:
            return _answer(429, "TooManyRequests", b"Retry-After: 1\r\n")
        case Fault.BROKEN:
            return _answer(500, "InternalError")
        case Fault.GONE if asked.watches and not asked.lists:
            return _answer(410, "Expired")
        case Fault.GONE_EVENT if asked.watches:
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            return _stream(msgspec.json.encode({"type": "ERROR", "object": gone}) + b"\n")
        case Fault.GARBAGE if asked.watches:
            return _stream(b'{"type":"ADDED","object":{"metadata":{"name"\x00\xff}}\n')
        case Fault.CLOSE if asked.watches:
            return _stream(b"")
        case _:
            return None


def always_fails(fault: Fault, asked: SentRequest) -> bytes | None:
    """The reply for a fault in which no watch works, also no streaming list, while other requests do."""
    if fault is Fault.GONE and asked.watches:
        return _answer(410, "Expired")
    return instead_of_answer(fault, asked) if asked.watches else None


def _answer(code: int, reason: str, headers: bytes = b"") -> bytes:
    body = msgspec.json.encode({"kind": "Status", "code": code, "reason": reason, "message": "by the proxy"})
    return b"HTTP/1.1 %d Fault\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n%b" % (
        code,
        headers,
        len(body),
        body,
    )


def _stream(body: bytes) -> bytes:
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunk
        + b"0\r\n\r\n"
    )
