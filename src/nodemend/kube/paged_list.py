"""Lists too long for one answer, page by page. All pages of a list are of one moment, or it starts again."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec

from nodemend.api.group_versions import Resource
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Ok, ReadFailure, ReadOutcome, Reason, Refused, Undecodable
from nodemend.kube.api_request import EVERYTHING, Selection, list_page

T = TypeVar("T")
V = TypeVar("V")

PAGE_SIZE = 500
MOST_PAGES = 4_000
"""Of one list, with those of its restarts."""
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
    """The server forgot the moment we were listing. Pages yielded so far belong to no list: drop them."""


async def pages(
    client: ApiClient,
    resource: Resource,
    kind: type[T],
    *,
    of: Selection = EVERYTHING,
    deadline: float,
    limit: int = PAGE_SIZE,
) -> AsyncIterator[Page[T] | Restarted | ReadFailure]:
    """Page after page. A failure is the last thing yielded; an expired list restarts a few times first."""
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
) -> ReadOutcome[Page[T]]:
    """The whole list as one page, at the version it was read at."""
    items: list[T] = []
    version = ""
    async for step in pages(client, resource, kind, of=of, deadline=deadline):
        match step:
            case Page():
                items += step.items
                version = step.version
            case Restarted():
                items.clear()
            case _:
                return step
    return Ok(Page(items, version))


async def take_all(
    client: ApiClient,
    resource: Resource,
    kind: type[T],
    take: Callable[[T], V | None],
    *,
    of: Selection = EVERYTHING,
    deadline: float,
) -> ReadOutcome[list[V]]:
    """What is taken of each, where that is not None: of the rest nobody ever holds more than a page."""
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
