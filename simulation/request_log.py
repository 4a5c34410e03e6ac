"""Digests of all requests that a simulated API server has answered.

A refactoring must not change them. `flow` covers each request's time, sender, target, preconditions and
status code. `full` also covers the bodies in a canonical form: the order of keys in a JSON object does not
matter.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nodemend.kube.request import Request

_SIZE: Final = 12
_REFUSED: Final = 400


@dataclass(frozen=True, slots=True)
class RequestDigests:
    flow: str
    full: str


class RequestLog:
    """Records nothing unless `keep` is set, because decoding each body takes a tenth of a simulated run."""

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._flow = hashlib.blake2b(digest_size=_SIZE)
        self._full = hashlib.blake2b(digest_size=_SIZE)

    def record(self, now: float, sender: str, request: Request, status: int, answer: bytes = b"") -> None:
        """Record a request. `answer` is the body of the answer; it counts only if the request was refused.

        Other answers follow from the requests.
        """
        if not self._keep:
            return
        body = _decoded(request.body)
        query = "&".join(f"{name}={value}" for name, value in request.query)
        line = f"{now:.6f} {sender} {request.method} {request.path}?{query} {_preconditions(body)} {status}\n"
        self._flow.update(line.encode())
        self._full.update(line.encode() + request.content.encode() + _canonical(body))
        if status >= _REFUSED:
            self._full.update(_canonical(_decoded(answer)))

    @property
    def digests(self) -> RequestDigests | None:
        """The digests, or None if the log records nothing."""
        if not self._keep:
            return None
        return RequestDigests(self._flow.hexdigest(), self._full.hexdigest())


def _decoded(body: bytes) -> Any:
    """Return the decoded body, or its hexadecimal form if it is not JSON."""
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError:
        return body.hex()


def _canonical(body: Any) -> bytes:
    return msgspec.json.encode(body, order="sorted")


def _preconditions(body: Any) -> list[object]:
    """Return the UID and version that a body names, or the `test` operations of a JSON patch."""
    if isinstance(body, list):
        return [one for one in body if isinstance(one, dict) and one.get("op") == "test"]
    if not isinstance(body, dict):
        return []
    parts = (body.get("metadata"), body.get("preconditions"))
    named = ((part.get("uid"), part.get("resourceVersion")) for part in parts if isinstance(part, dict))
    return [one for pair in named for one in pair]
