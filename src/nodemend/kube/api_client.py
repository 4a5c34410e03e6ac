"""Calls to the API server: one request value in, one typed outcome out. Nothing is retried, nothing sleeps.

When the server asks us to be quiet, or our own rate is used up, a call ends at once as Refused(THROTTLED)
with the seconds to wait: whoever called knows better than a hidden sleep whether it will still be right then.
"""

from dataclasses import dataclass
from typing import TypeVar

from nodemend.kube.api_outcome import (
    ReadOutcome,
    Reason,
    Refused,
    WriteOutcome,
    judge_read,
    judge_write,
    read_status,
)
from nodemend.kube.api_reply import Answer, Reply
from nodemend.kube.api_request import Request
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.rate_limit import Rate, TokenBucket

T = TypeVar("T")

_QUIET_WITHOUT_A_NUMBER_SECONDS = 1.0
# What is missing of a turn may be too small a number for any clock to show.
_SHORTEST_WAIT_SECONDS = 0.01
# A server may ask for patience, but no single answer may silence us for an hour.
_LONGEST_QUIET_SECONDS = 120.0


@dataclass(slots=True)
class _Pace:
    """What all who share a client's rate have in common."""

    bucket: TokenBucket
    quiet_until: float = float("-inf")


@dataclass(frozen=True, slots=True)
class _Wait:
    why: str
    seconds: float


class ApiClient:
    """Sends requests over a transport, at a bounded rate. `deadline` is monotonic and has no default."""

    def __init__(
        self,
        transport: Transport,
        runtime: Runtime,
        rate: Rate = Rate(),  # noqa: B008 - frozen
        *,
        pace: _Pace | None = None,
        leaving: int = 0,
        queues: bool = False,
    ) -> None:
        self._transport = transport
        self._runtime = runtime
        self._pace = pace or _Pace(TokenBucket(rate))
        self._leaving = leaving
        self._queues = queues

    def leaving(self, requests: int, *, queues: bool = False) -> "ApiClient":
        """The same access at the same rate, for what can wait: it leaves so many requests to the others.

        One that `queues` waits for its turn, as long as the deadline of a request lets it.
        """
        return ApiClient(self._transport, self._runtime, pace=self._pace, leaving=requests, queues=queues)

    async def read(self, request: Request, kind: type[T], *, deadline: float) -> ReadOutcome[T]:
        """Ask, and decode the answer as `kind`."""
        if request.writes:
            raise ValueError(f"{request.method} {request.path} is not a read")
        reply = await self._send(request, deadline)
        return reply if isinstance(reply, Refused) else judge_read(reply, kind)

    async def write(self, request: Request, kind: type[T], *, deadline: float) -> WriteOutcome[T]:
        """Change, and decode the answer as `kind` (Acknowledged when it does not matter)."""
        if not request.writes:
            raise ValueError(f"{request.method} {request.path} is not a write")
        reply = await self._send(request, deadline)
        return reply if isinstance(reply, Refused) else judge_write(reply, kind)

    async def _send(self, request: Request, deadline: float) -> Reply | Refused:
        while wait := self._wait():
            if not self._queues or self._runtime.monotonic() + wait.seconds > deadline:
                return Refused(Reason.THROTTLED, wait.why, wait.seconds)
            await self._runtime.sleep(max(wait.seconds, _SHORTEST_WAIT_SECONDS))
        reply = await self._transport.send(request, deadline)
        if isinstance(reply, Answer) and (quiet := _quiet_asked(reply)):
            self._pace.quiet_until = max(self._pace.quiet_until, self._runtime.monotonic() + quiet)
        return reply

    def _wait(self) -> "_Wait | None":
        """Until our turn may come; None if it has, which takes it."""
        now = self._runtime.monotonic()
        if now < self._pace.quiet_until:
            return _Wait("the server asked us to be quiet", self._pace.quiet_until - now)
        if seconds := self._pace.bucket.take(now, self._leaving):
            return _Wait("our own rate is used up", seconds)
        return None


def _quiet_asked(answer: Answer) -> float:
    """Seconds for which the server wants nothing more from this client; 0.0 when it did not say so."""
    if answer.status == 429 and not read_status(answer.body).guards_a_disruption_budget:
        asked = answer.retry_after or _QUIET_WITHOUT_A_NUMBER_SECONDS
    elif answer.status == 503 and answer.retry_after:
        asked = answer.retry_after
    else:
        return 0.0
    return min(asked, _LONGEST_QUIET_SECONDS)
