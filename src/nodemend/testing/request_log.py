"""Digests of all requests that a simulated API server has answered.

A refactoring must not change them. `flow` covers when each request arrived, who sent it, what it addressed,
on which versions it depended and what came of it. `full` covers the bodies as well, in a canonical form: the
order of the keys of a JSON object does not matter.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nodemend.kube.api_request import Request

_SIZE: Final = 12
_REFUSED: Final = 400


@dataclass(frozen=True, slots=True)
class RequestDigests:
    flow: str
    full: str


class RequestLog:
    def __init__(self) -> None:
        self._flow = hashlib.blake2b(digest_size=_SIZE)
        self._full = hashlib.blake2b(digest_size=_SIZE)

    def record(self, now: float, sender: str, request: Request, status: int, answer: bytes = b"") -> None:
        """`answer` is the body of the answer. Only a refusal's counts: the rest follows from the requests."""
        body = _decoded(request.body)
        query = "&".join(f"{name}={value}" for name, value in request.query)
        line = f"{now:.6f} {sender} {request.method} {request.path}?{query} {_preconditions(body)} {status}\n"
        self._flow.update(line.encode())
        self._full.update(line.encode() + request.content.encode() + _canonical(body))
        if status >= _REFUSED:
            self._full.update(_canonical(_decoded(answer)))

    @property
    def digests(self) -> RequestDigests:
        return RequestDigests(self._flow.hexdigest(), self._full.hexdigest())


def _decoded(body: bytes) -> Any:
    """A body that is not JSON stands for itself."""
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError:
        return body.hex()


def _canonical(body: Any) -> bytes:
    return msgspec.json.encode(body, order="sorted")


def _preconditions(body: Any) -> list[object]:
    """The UID and the version that a body names, and the tests of a JSON patch."""
    if isinstance(body, list):
        return [one for one in body if isinstance(one, dict) and one.get("op") == "test"]
    if not isinstance(body, dict):
        return []
    parts = (body.get("metadata"), body.get("preconditions"))
    named = ((part.get("uid"), part.get("resourceVersion")) for part in parts if isinstance(part, dict))
    return [one for pair in named for one in pair]
