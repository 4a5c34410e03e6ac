"""API client for the parts of the world that never fail: plain objects in, plain objects out."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import (
    EVERYTHING,
    Content,
    Method,
    Request,
    Selection,
    collection_path,
    item_path,
    watch,
)
from simulation.network import Endpoint, ServedWatch

Object = dict[str, Any]


class News:
    """Detects changes of some objects since the last call of `any`, so that callers can skip reads."""

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
    """The server refused a request of a well-behaved part of the world."""


class Direct:
    """Calls of one account. Methods that document it return refusals as values; others raise RefusedError."""

    def __init__(self, server: Endpoint) -> None:
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
        if isinstance(opened, ApiResponse):
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
    ) -> ApiResponse:
        """Send a merge patch without preconditions. `at` is the namespace and the subresource."""
        namespace, subresource = at
        path = item_path(resource, name, namespace, subresource)
        query = (("fieldManager", manager),) if manager else ()
        body = msgspec.json.encode(change)
        return self._server.handle(Request(Method.PATCH, path, query, body, Content.MERGE_PATCH))

    def patch(
        self, resource: Resource, name: str, change: Mapping[str, Any], *, at: tuple[str, str] = ("", "")
    ) -> Object | None:
        """Send a merge patch; return the object, or None if it does not exist."""
        answer = self.try_patch(resource, name, change, at=at)
        return None if answer.status == 404 else _object(answer)

    def delete(self, resource: Resource, name: str, namespace: str = "", *, grace: int | None = None) -> None:
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
        path = item_path(resource, name, namespace)
        answer = self._server.handle(Request(Method.DELETE, path, (), body))
        if answer.status != 404:
            _object(answer)


def _object(answer: ApiResponse) -> Object:
    decoded: Object = msgspec.json.decode(answer.body)
    if answer.status >= 400:
        raise RefusedError(f"{answer.status}: {decoded.get('message')}")
    return decoded
