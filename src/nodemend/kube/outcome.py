"""Outcomes of API calls, as far as they can be known. Each is a type, so that callers match all of them.

A reply is the result of a request before its body is read; an outcome is what the reply means, with its body
decoded. A Lease has its own outcomes: its holder acts on them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, TypeAlias, TypeVar, assert_never

import msgspec

from nodemend.api.upstream_types import Lease


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete response, in time."""

    status: int
    body: bytes
    retry_after: float | None = None
    # The server's own clock when it answered, in whole seconds (the Date header). None if it sent no time.
    server_time: float | None = None


@dataclass(frozen=True, slots=True)
class Unsent:
    """The request certainly never reached the server: nothing was applied."""

    why: str

    def __str__(self) -> str:
        return f"the request was not sent: {self.why}"


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The request may have reached the server; it is unknown if it was applied."""

    why: str


Reply = ApiResponse | Unsent | Unanswered


T = TypeVar("T")

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All exceptions that decoding raises for invalid bytes."""

_LONGEST_REASON: Final = 200
_PATTERN: Final = re.compile(r"Expected `str` matching regex '.*' - at", re.DOTALL)

_DECODERS: "dict[type, msgspec.json.Decoder[Any]]" = {}


def decoder_of(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """The decoder of a type. Cached: creating one costs as much as a thousand uses."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return decoder


def unreadable_because(error: BaseException) -> str:
    """One short line for people. A pattern is described by its field, not by its regular expression."""
    text = _PATTERN.sub("Text of another form than is allowed - at", str(error))
    if len(text) > _LONGEST_REASON:
        text = text[: _LONGEST_REASON - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")[:_LONGEST_REASON]


LONGEST_MESSAGE: Final = 4096
"""Characters of a server's error message. A longer message is cut."""
LONGEST_WAIT: Final = 86400.0
"""Seconds. A longer wait that a server requests is cut to this."""


class Reason(StrEnum):
    """Reason of a refusal by the server or the client's rate limit. A refused request changed nothing."""

    BAD_REQUEST = "BadRequest"
    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    ALREADY_EXISTS = "AlreadyExists"
    GONE = "Gone"
    INVALID = "Invalid"
    THROTTLED = "Throttled"
    OTHER = "Other"


@dataclass(frozen=True, slots=True)
class Ok(Generic[T]):
    value: T
    # The server's own clock when it answered, in whole seconds since the epoch. None if it sent no time.
    server_time: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Certainly not applied. `retry_after` is the number of seconds to wait; None if unknown."""

    reason: Reason
    message: str
    retry_after: float | None = None

    def __str__(self) -> str:
        retry = f" (retry after {self.retry_after:g} s)" if self.retry_after is not None else ""
        return f"{self.reason.value}: {self.message}{retry}"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A read that got no response."""

    why: str

    def __str__(self) -> str:
        return f"the API server did not answer: {self.why}"


@dataclass(frozen=True, slots=True)
class ServerFault:
    """A read that failed in the server (5xx)."""

    status: int
    message: str

    def __str__(self) -> str:
        return f"the API server answered {self.status}: {self.message}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A write that may have been applied. Only a live read shows that."""

    why: str

    def __str__(self) -> str:
        return f"it is unknown whether the write was applied: {self.why}"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """The server accepted the request, but its response cannot be decoded. Such a write was applied."""

    why: str

    def __str__(self) -> str:
        return f"the answer cannot be decoded: {self.why}"


ReadFailure: TypeAlias = Refused | Unreachable | ServerFault | Undecodable
ReadOutcome: TypeAlias = Ok[T] | Refused | Unreachable | ServerFault | Undecodable
WriteOutcome: TypeAlias = Ok[T] | Refused | Unsent | Unknown | Undecodable


class Acknowledged(msgspec.Struct, frozen=True, gc=False):
    """The type to decode a response as if its body does not matter."""


class _Cause(msgspec.Struct):
    reason: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float | None = None


class ApiStatus(msgspec.Struct, frozen=True):
    """The Status that Kubernetes returns for a failed request."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None

    @property
    def retry_after(self) -> float | None:
        asked = self.details.retry_after_seconds if self.details else None
        return None if asked is None else min(max(asked, 0.0), LONGEST_WAIT)

    @property
    def guards_a_disruption_budget(self) -> bool:
        """True for an eviction refused by a PodDisruptionBudget: it says nothing about the server's load."""
        causes = (self.details.causes if self.details else None) or ()
        return any(cause.reason == "DisruptionBudget" for cause in causes)


_BY_CODE = {
    400: Reason.BAD_REQUEST,
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.NOT_FOUND,
    409: Reason.CONFLICT,
    410: Reason.GONE,
    422: Reason.INVALID,
    429: Reason.THROTTLED,
}


def read_status(body: bytes) -> ApiStatus:
    """The Status in a body. Any other body (a proxy's page, a truncated body) becomes the message of one."""
    try:
        status = decoder_of(ApiStatus).decode(body)
    except DECODE_ERRORS:
        return ApiStatus(message=body[:200].decode(errors="replace"))
    if len(status.message) <= LONGEST_MESSAGE and len(status.reason) <= LONGEST_MESSAGE:
        return status
    return msgspec.structs.replace(
        status, message=status.message[:LONGEST_MESSAGE], reason=status.reason[:LONGEST_MESSAGE]
    )


def read_outcome(reply: Reply, kind: type[T]) -> ReadOutcome[T]:
    match reply:
        case ApiResponse() if reply.status >= 500:
            return ServerFault(reply.status, read_status(reply.body).message)
        case ApiResponse():
            return _decode_response(reply, kind)
        case Unsent(why) | Unanswered(why):
            return Unreachable(why)
        case _:
            assert_never(reply)


def write_outcome(reply: Reply, kind: type[T]) -> WriteOutcome[T]:
    match reply:
        case ApiResponse() if reply.status >= 500:
            # An error can follow a stored write: from a webhook, a timeout, or a proxy on the path.
            return Unknown(f"the server answered {reply.status}: {read_status(reply.body).message}")
        case ApiResponse():
            return _decode_response(reply, kind)
        case Unsent():
            return reply
        case Unanswered(why):
            return Unknown(why)
        case _:
            assert_never(reply)


def refusal(answer: ApiResponse) -> Refused:
    """An error response as a typed reason."""
    status = read_status(answer.body)
    reason = _BY_CODE.get(answer.status, Reason.OTHER)
    if reason is Reason.CONFLICT and status.reason == "AlreadyExists":
        reason = Reason.ALREADY_EXISTS
    message = status.message or f"the server answered {answer.status}"
    return Refused(reason, message, _longer(answer.retry_after, status.retry_after))


def _decode_response(answer: ApiResponse, kind: type[T]) -> Ok[T] | Refused | Undecodable:
    if not 200 <= answer.status < 300:
        return refusal(answer)
    try:
        value = decoder_of(kind).decode(answer.body)
    except DECODE_ERRORS as error:
        return Undecodable(f"{kind.__name__}: {error}")
    return Ok(value, answer.server_time)


def _longer(one: float | None, other: float | None) -> float | None:
    return max((wait for wait in (one, other) if wait is not None), default=None)


L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class LeaseFound(Generic[L]):
    """The current Lease, from a read or from this process's own write."""

    lease: L


@dataclass(frozen=True, slots=True)
class LeaseMissing:
    """The Lease does not exist, and the server serves the kind."""


@dataclass(frozen=True, slots=True)
class LeaseOutdated:
    """Another client wrote first: the known version is out of date."""


@dataclass(frozen=True, slots=True)
class LeaseFailed:
    """Any other outcome. If it was a write, it may have been applied."""

    why: str
    retry_after: float = 0.0


LeaseResult: TypeAlias = LeaseFound[L] | LeaseMissing | LeaseOutdated | LeaseFailed


def understand_lease(reply: Reply, read: Callable[[Lease], LeaseFound[L] | LeaseFailed]) -> LeaseResult[L]:
    """The meaning of a reply about one Lease. Any reply that is not clearly understood is LeaseFailed."""
    outcome = write_outcome(reply, Lease)
    match outcome:
        case Ok(lease):
            return read(lease)
        case Refused(Reason.NOT_FOUND):
            return LeaseMissing()
        case Refused(Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return LeaseOutdated()
        case Refused(_, message, retry_after):
            return LeaseFailed(message, retry_after or 0.0)
        case Unsent(why) | Unknown(why) | Undecodable(why):
            return LeaseFailed(why, (reply.retry_after or 0.0) if isinstance(reply, ApiResponse) else 0.0)
        case _:
            assert_never(outcome)
