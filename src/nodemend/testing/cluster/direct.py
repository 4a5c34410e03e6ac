"""The API server for those parts of the world that never fail: plain objects in, plain objects out."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from nodemend.api.group_versions import Resource
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import (
    EVERYTHING,
    Content,
    Method,
    Request,
    Selection,
    collection_path,
    item_path,
    watch,
)
from nodemend.testing.network import ServedWatch

Object = dict[str, Any]


class Server(Protocol):
    """What the world asks of the simulated API server."""

    def handle(self, request: Request) -> Answer: ...

    def watch(self, request: Request) -> ServedWatch | Answer: ...


class News:
    """Whether anything has happened to some objects since one last asked. It spares looking twice."""

    def __init__(self, openers: Iterable[Callable[[], ServedWatch]]) -> None:
        self._openers = tuple(openers)
        self._watches: list[ServedWatch] = []

    def any(self) -> bool:
        taken = [watch.take() for watch in self._watches]
        if self._watches and all(watch.ended is None for watch in self._watches):
            return any(taken)
        self._watches = [reopen() for reopen in self._openers]
        return True


class RefusedError(AssertionError):
    """The server refused what a well-behaved part of the world asked for."""


class Direct:
    """One account's calls. Refusals are values where the caller says so, else errors of the simulation."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, resource: Resource, name: str, namespace: str = "") -> Object | None:
        answer = self._server.handle(Request(Method.GET, item_path(resource, name, namespace)))
        return None if answer.status == 404 else _object(answer)

    def list(self, resource: Resource, of: Selection = EVERYTHING) -> list[Object]:
        answer = self._server.handle(Request(Method.GET, collection_path(resource, of.namespace), of.query))
        items: list[Object] = _object(answer)["items"]
        return items

    def news(self, *places: tuple[Resource, Selection]) -> News:
        return News([partial(self._watch, resource, of) for resource, of in places])

    def _watch(self, resource: Resource, of: Selection) -> ServedWatch:
        forever = 10_000_000
        opened = self._server.watch(watch(resource, of, version="", seconds=forever))
        if isinstance(opened, Answer):
            raise RefusedError(f"{opened.status}: no watch on {resource}")
        return opened

    def create(self, resource: Resource, body: Mapping[str, Any], namespace: str = "") -> Object:
        full = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        path = collection_path(resource, namespace)
        return _object(self._server.handle(Request(Method.POST, path, (), msgspec.json.encode(full))))

    def try_patch(
        self,
        resource: Resource,
        name: str,
        change: Mapping[str, Any],
        *,
        at: tuple[str, str] = ("", ""),
        manager: str = "",
    ) -> Answer:
        """A merge patch without preconditions. `at` is the namespace and the subresource."""
        namespace, subresource = at
        path = item_path(resource, name, namespace, subresource)
        query = (("fieldManager", manager),) if manager else ()
        body = msgspec.json.encode(change)
        return self._server.handle(Request(Method.PATCH, path, query, body, Content.MERGE_PATCH))

    def patch(
        self, resource: Resource, name: str, change: Mapping[str, Any], *, at: tuple[str, str] = ("", "")
    ) -> Object | None:
        """None when the object is gone."""
        answer = self.try_patch(resource, name, change, at=at)
        return None if answer.status == 404 else _object(answer)

    def delete(self, resource: Resource, name: str, namespace: str = "", *, grace: int | None = None) -> None:
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
        path = item_path(resource, name, namespace)
        answer = self._server.handle(Request(Method.DELETE, path, (), body))
        if answer.status != 404:
            _object(answer)


def _object(answer: Answer) -> Object:
    decoded: Object = msgspec.json.decode(answer.body)
    if answer.status >= 400:
        raise RefusedError(f"{answer.status}: {decoded.get('message')}")
    return decoded
