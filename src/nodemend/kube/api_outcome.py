"""What became of a call, as far as anybody can know. Every outcome is a type, to be matched to the end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar, assert_never

import msgspec

from nodemend.kube.api_reply import Answer, Reply, Unanswered, Unsent
from nodemend.kube.json_decoding import UNREADABLE, decoder_of

T = TypeVar("T")

LONGEST_MESSAGE: Final = 4096
"""Characters of what a server says went wrong. What is longer is cut."""
LONGEST_WAIT: Final = 86400.0


class Reason(StrEnum):
    """Why the server (or our own pacing) refused. A refused request changed nothing."""

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
    # The server's own clock when it answered, whole seconds since the epoch. None when it named none.
    server_time: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Certainly not applied. `retry_after` says how many seconds to keep quiet, where somebody named them."""

    reason: Reason
    message: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A read that got no answer."""

    why: str


@dataclass(frozen=True, slots=True)
class ServerFault:
    """A read that the server failed to answer."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A write that may have been applied. Only a fresh read can tell."""

    why: str


@dataclass(frozen=True, slots=True)
class Undecodable:
    """The server agreed, and said what we cannot read. A write with this outcome was applied."""

    why: str


ReadFailure: TypeAlias = Refused | Unreachable | ServerFault | Undecodable
WriteFailure: TypeAlias = Refused | Unsent | Unknown | Undecodable
ReadOutcome: TypeAlias = Ok[T] | Refused | Unreachable | ServerFault | Undecodable
WriteOutcome: TypeAlias = Ok[T] | Refused | Unsent | Unknown | Undecodable


class Acknowledged(msgspec.Struct, frozen=True, gc=False):
    """The type to decode as when the body does not matter."""


class _Cause(msgspec.Struct):
    reason: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float | None = None


class Status(msgspec.Struct, frozen=True):
    """Kubernetes' own words about a request that did not go well."""

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
        """An eviction refused for the sake of one workload: it says nothing about the server's load."""
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


def read_status(body: bytes) -> Status:
    """The Status in a body; what is none (a proxy's page, a cut body) becomes the message of one."""
    try:
        status = decoder_of(Status).decode(body)
    except UNREADABLE:
        return Status(message=body[:200].decode(errors="replace"))
    if len(status.message) <= LONGEST_MESSAGE and len(status.reason) <= LONGEST_MESSAGE:
        return status
    return msgspec.structs.replace(
        status, message=status.message[:LONGEST_MESSAGE], reason=status.reason[:LONGEST_MESSAGE]
    )


def judge_read(reply: Reply, kind: type[T]) -> ReadOutcome[T]:
    match reply:
        case Answer() if reply.status >= 500:
            return ServerFault(reply.status, read_status(reply.body).message)
        case Answer():
            return _judge_answer(reply, kind)
        case Unsent(why) | Unanswered(why):
            return Unreachable(why)
        case _:
            assert_never(reply)


def judge_write(reply: Reply, kind: type[T]) -> WriteOutcome[T]:
    match reply:
        case Answer() if reply.status >= 500:
            # Even an error can come after the store took it: a webhook, a time limit, a proxy in between.
            return Unknown(f"the server answered {reply.status}: {read_status(reply.body).message}")
        case Answer():
            return _judge_answer(reply, kind)
        case Unsent():
            return reply
        case Unanswered(why):
            return Unknown(why)
        case _:
            assert_never(reply)


def refusal(answer: Answer) -> Refused:
    """A client error as a typed reason."""
    status = read_status(answer.body)
    reason = _BY_CODE.get(answer.status, Reason.OTHER)
    if reason is Reason.CONFLICT and status.reason == "AlreadyExists":
        reason = Reason.ALREADY_EXISTS
    message = status.message or f"the server answered {answer.status}"
    return Refused(reason, message, _longer(answer.retry_after, status.retry_after))


def _judge_answer(answer: Answer, kind: type[T]) -> Ok[T] | Refused | Undecodable:
    if not 200 <= answer.status < 300:
        return refusal(answer)
    try:
        value = decoder_of(kind).decode(answer.body)
    except UNREADABLE as error:
        return Undecodable(f"{kind.__name__}: {error}")
    return Ok(value, answer.server_time)


def _longer(one: float | None, other: float | None) -> float | None:
    return max((wait for wait in (one, other) if wait is not None), default=None)
