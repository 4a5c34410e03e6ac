"""Calls the API server: one request in, one typed outcome out, at a limited rate. Nothing is retried.

If the server requests a pause, or the client's own rate is used up, a call ends at once as Refused(THROTTLED)
with the seconds to wait: only the caller knows if the call will still be right after a wait. A client that
`queues` sleeps instead, within the deadline of the request.

A list that is too long for one response is read page by page. All pages of a list show one version, or the
list restarts. The resource of a kind is read from the API server, because a plural cannot be guessed.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, assert_never, cast

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.flowcontrol import Rate, TokenBucket
from nodemend.kube.outcome import (
    ApiResponse,
    Ok,
    ReadFailure,
    ReadOutcome,
    Reason,
    Refused,
    Reply,
    Unanswered,
    Undecodable,
    Unsent,
    WriteOutcome,
    read_outcome,
    read_status,
    write_outcome,
)
from nodemend.kube.ports import Runtime, Stream, Transport
from nodemend.kube.request import EVERYTHING, Method, Request, Selection, list_page

_VERBS: Final = {
    Method.POST: "create",
    Method.PUT: "update",
    Method.PATCH: "patch",
    Method.DELETE: "delete",
}


class CountedTransport:
    """A Transport over another one, for metrics."""

    def __init__(self, transport: Transport, count: Callable[[str, str, str], None]) -> None:
        """`count` gets the verb, the resource and the outcome of each request once it is over."""
        self._transport = transport
        self._count = count

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = await self._transport.send(request, deadline)
        self._count(*_asked(request), _outcome(reply))
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        opened = await self._transport.open(request, deadline)
        outcome = _outcome(opened) if isinstance(opened, ApiResponse | Unsent | Unanswered) else "200"
        self._count(*_asked(request), outcome)
        return opened


def _asked(request: Request) -> tuple[str, str]:
    """The verb as in Kubernetes RBAC rules, and the resource with its subresource."""
    match request.path.strip("/").split("/"):
        case ["api", _, "namespaces", _, plural, *rest] | ["apis", _, _, "namespaces", _, plural, *rest]:
            pass
        case ["api", _, plural, *rest] | ["apis", _, _, plural, *rest]:
            pass
        case _:
            return request.method.value.lower(), request.path
    resource = "/".join((plural, *rest[1:]))
    if request.method is not Method.GET:
        return _VERBS[request.method], resource
    if rest:
        return "get", resource
    return ("watch" if ("watch", "true") in request.query else "list"), resource


def _outcome(reply: Reply) -> str:
    match reply:
        case ApiResponse():
            return str(reply.status)
        case Unsent():
            return "unsent"
        case Unanswered():
            return "unanswered"
        case _:
            assert_never(reply)


T = TypeVar("T")

_QUIET_WITHOUT_A_NUMBER_SECONDS = 1.0
# The missing part of a token may take too short a time for any clock to show.
_SHORTEST_WAIT_SECONDS = 0.01
# A server may request a pause, but no single response may stop the client for an hour.
_LONGEST_QUIET_SECONDS = 120.0


@dataclass(slots=True)
class _Pace:
    """The rate and the pause that all clients of one access share."""

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
        """A client with the same access and rate, for work that can wait: it leaves `requests` to the others.

        With `queues` it waits for its turn, within the deadline of a request.
        """
        return ApiClient(self._transport, self._runtime, pace=self._pace, leaving=requests, queues=queues)

    async def read(self, request: Request, kind: type[T], *, deadline: float) -> ReadOutcome[T]:
        """Read, and decode the response as `kind`."""
        if request.writes:
            raise ValueError(f"{request.method} {request.path} is not a read")
        reply = await self._send(request, deadline)
        return reply if isinstance(reply, Refused) else read_outcome(reply, kind)

    async def write(self, request: Request, kind: type[T], *, deadline: float) -> WriteOutcome[T]:
        """Write, and decode the response as `kind` (Acknowledged if it does not matter)."""
        if not request.writes:
            raise ValueError(f"{request.method} {request.path} is not a write")
        reply = await self._send(request, deadline)
        return reply if isinstance(reply, Refused) else write_outcome(reply, kind)

    async def _send(self, request: Request, deadline: float) -> Reply | Refused:
        while wait := self._wait():
            if not self._queues or self._runtime.monotonic() + wait.seconds > deadline:
                return Refused(Reason.THROTTLED, wait.why, wait.seconds)
            await self._runtime.sleep(max(wait.seconds, _SHORTEST_WAIT_SECONDS))
        reply = await self._transport.send(request, deadline)
        if isinstance(reply, ApiResponse) and (quiet := _quiet_asked(reply)):
            self._pace.quiet_until = max(self._pace.quiet_until, self._runtime.monotonic() + quiet)
        return reply

    def _wait(self) -> "_Wait | None":
        """The wait before the next request; None if it may be sent now, which takes a token."""
        now = self._runtime.monotonic()
        if now < self._pace.quiet_until:
            return _Wait("the server requested a pause", self._pace.quiet_until - now)
        if seconds := self._pace.bucket.take(now, self._leaving):
            return _Wait("the client's own rate limit is reached", seconds)
        return None


def _quiet_asked(answer: ApiResponse) -> float:
    """Seconds for which the server wants no more requests from this client; 0.0 if it did not say so."""
    if answer.status == 429 and not read_status(answer.body).guards_a_disruption_budget:
        asked = answer.retry_after or _QUIET_WITHOUT_A_NUMBER_SECONDS
    elif answer.status == 503 and answer.retry_after:
        asked = answer.retry_after
    else:
        return 0.0
    return min(asked, _LONGEST_QUIET_SECONDS)


class _Served(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool


class _ServedList(msgspec.Struct, frozen=True):
    resources: tuple[_Served, ...] = ()


async def find_resource(
    client: ApiClient, api_version: str, kind: str, *, deadline: float
) -> Resource | ReadFailure | None:
    """The resource, or None if that version does not serve the kind."""
    group, _, version = api_version.rpartition("/")
    path = f"/apis/{api_version}" if group else f"/api/{api_version}"
    outcome = await client.read(Request(Method.GET, path), _ServedList, deadline=deadline)
    if not isinstance(outcome, Ok):
        return outcome
    # A subresource has a kind too, and a slash in its name.
    for served in outcome.value.resources:
        if served.kind == kind and "/" not in served.name:
            return Resource(group, version, kind, served.name, served.namespaced)
    return None


V = TypeVar("V")

PAGE_SIZE = 500
MOST_PAGES = 4_000
"""Of one list, including its restarts."""
_MOST_RESTARTS = 3


class ListMeta(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class ListOf(msgspec.Struct, Generic[T], frozen=True):
    """One page on the wire."""

    metadata: ListMeta
    items: list[T] | None = None


def list_of(kind: type[T]) -> type[ListOf[T]]:
    """The wire type of a page of `kind`. The same for the same kind, so that its decoder is made once."""
    return cast("type[ListOf[T]]", cast("Any", ListOf)[kind])


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T]
    version: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The server no longer has the listed version. Pages yielded so far belong to no list: drop them."""


async def pages(
    client: ApiClient,
    resource: Resource,
    kind: type[T],
    *,
    of: Selection = EVERYTHING,
    deadline: float,
    limit: int = PAGE_SIZE,
) -> AsyncIterator[Page[T] | Restarted | ReadFailure]:
    """Yield page after page. A failure is the last item; an expired list restarts a few times first."""
    token, restarts = "", 0
    for _ in range(MOST_PAGES):
        request = list_page(resource, of, limit=limit, token=token)
        match await client.read(request, list_of(kind), deadline=deadline):
            case Ok(page):
                yield Page(page.items or [], page.metadata.resource_version)
                token = page.metadata.continue_
                if not token:
                    return
            case Refused(reason=Reason.GONE) if token and restarts < _MOST_RESTARTS:
                yield Restarted()
                token, restarts = "", restarts + 1
            case failure:
                yield failure
                return
    yield Undecodable(f"a list of more than {MOST_PAGES} pages")


async def list_all(
    client: ApiClient, resource: Resource, kind: type[T], *, of: Selection = EVERYTHING, deadline: float
) -> ReadOutcome[list[T]]:
    return await take_all(client, resource, kind, lambda one: one, of=of, deadline=deadline)


async def take_all(
    client: ApiClient,
    resource: Resource,
    kind: type[T],
    take: Callable[[T], V | None],
    *,
    of: Selection = EVERYTHING,
    deadline: float,
) -> ReadOutcome[list[V]]:
    """The results of `take` that are not None. At most one page of the objects is in memory at a time."""
    taken: list[V] = []
    async for step in pages(client, resource, kind, of=of, deadline=deadline):
        match step:
            case Page(items):
                taken += [found for one in items if (found := take(one)) is not None]
            case Restarted():
                taken.clear()
            case _:
                return step
    return Ok(taken)
