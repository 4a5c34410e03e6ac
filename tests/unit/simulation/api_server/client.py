"""A client of the simulated server: short calls for requests, answers as parsed JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Content, Method, Request, collection_path, item_path
from simulation.api_server.admission import ADMIN, User
from simulation.api_server.server import SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch

Object = dict[str, Any]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

WIDGET = Resource("example.com", "v1", "Widget", "widgets")
WIDGETS: Object = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "mode": {"type": "string", "enum": ["On", "Off"], "default": "Off"},
                                    "tags": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string", "maxLength": 5},
                                    },
                                },
                            },
                            "status": {"type": "object", "properties": {"epoch": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    }
}


class Client:
    """A client whose requests are all at the present moment of a separate clock."""

    def __init__(self, **options: Any) -> None:
        self.now = NOON
        self.user = ADMIN
        self.server = SimulatedApiServer(lambda: self.now, definitions=[WIDGETS], **options)

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)

    def ask(
        self,
        method: Method,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content: Content = Content.JSON,
    ) -> tuple[int, Any]:
        """The status and the parsed body."""
        encoded = b"" if body is None else msgspec.json.encode(body)
        request = Request(method, path, tuple((query or {}).items()), encoded, content)
        answer = self.server.handle(request, self.user)
        return answer.status, json.loads(answer.body)

    def create(self, resource: Resource, name: str, namespace: str = "", **rest: Any) -> Object:
        metadata = {"name": name, **rest.pop("metadata", {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **rest}
        status, made = self.ask(
            Method.POST, collection_path(resource, namespace), body, {"fieldManager": "me"}
        )
        assert status == 201, made
        return dict(made)

    def get(self, resource: Resource, name: str, namespace: str = "", **query: str) -> tuple[int, Any]:
        return self.ask(Method.GET, item_path(resource, name, namespace), query=query)

    def list(self, resource: Resource, namespace: str = "", **query: str) -> tuple[int, Any]:
        return self.ask(Method.GET, collection_path(resource, namespace), query=query)

    def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        change: object,
        part: str = "",
        by: str = "me",
    ) -> tuple[int, Any]:
        path = item_path(resource, name, namespace, part)
        return self.ask(Method.PATCH, path, change, {"fieldManager": by}, Content.MERGE_PATCH)

    def apply(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        fields: Object,
        by: str,
        force: bool = False,
    ) -> tuple[int, Any]:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **fields}
        body["metadata"] = {"name": name, **fields.get("metadata", {})}
        query = {"fieldManager": by, **({"force": "true"} if force else {})}
        return self.ask(Method.PATCH, item_path(resource, name, namespace), body, query, Content.APPLY_PATCH)

    def delete(
        self, resource: Resource, name: str, namespace: str = "", options: object = None
    ) -> tuple[int, Any]:
        return self.ask(Method.DELETE, item_path(resource, name, namespace), options)

    def watch(self, resource: Resource, namespace: str = "", **query: str) -> SimulatedWatch:
        pairs = (("watch", "true"), *query.items())
        opened = self.server.watch(
            Request(Method.GET, collection_path(resource, namespace), pairs), self.user
        )
        assert isinstance(opened, SimulatedWatch), opened
        return opened

    def refused_watch(self, resource: Resource, user: User = ADMIN, **query: str) -> ApiResponse:
        pairs = (("watch", "true"), *query.items())
        opened = self.server.watch(Request(Method.GET, collection_path(resource), pairs), user)
        assert isinstance(opened, ApiResponse)
        return opened


def reported(watch: SimulatedWatch) -> list[tuple[str, str]]:
    """The events that were due: the type of each, and the name of its object."""
    events = [json.loads(line) for line in watch.take()]
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def names(listed: Any) -> Sequence[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def version(object_: Any) -> str:
    return str(object_["metadata"]["resourceVersion"])
