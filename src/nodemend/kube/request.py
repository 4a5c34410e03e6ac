"""Requests to the API server as values. Building one has no side effects."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from urllib.parse import quote, urlencode

import msgspec

from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import LEASE, Resource


class Method(StrEnum):
    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


class Content(StrEnum):
    """Content type of a body. It also names the kind of a patch."""

    JSON = "application/json"
    MERGE_PATCH = "application/merge-patch+json"
    JSON_PATCH = "application/json-patch+json"
    APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, complete except for host and credentials. `path` is percent-encoded."""

    method: Method
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content: Content = Content.JSON
    confirmed: bool = False
    """Send it only after one more renewal of the leader's Lease (`leader_runner.LeaderTransport`)."""

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def writes(self) -> bool:
        return self.method is not Method.GET


@dataclass(frozen=True, slots=True)
class Precondition:
    """The UID and resourceVersion of the object on which a decision is based."""

    uid: str
    version: str


def version_in(metadata: ObjectMeta) -> Precondition:
    return Precondition(metadata.uid, metadata.resource_version)


def get(resource: Resource, name: str, namespace: str = "") -> Request:
    """A linearizable read: it names no resourceVersion, so the server reads from its store."""
    return Request(Method.GET, item_path(resource, name, namespace))


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of a resource's objects: all of them, unless narrowed."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        named = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return tuple((key, value) for key, value in named if value)


EVERYTHING = Selection()


def list_page(resource: Resource, of: Selection, *, limit: int, token: str = "") -> Request:
    """One page of a consistent list; `token` continues an earlier page."""
    query = (("limit", str(limit)), *of.query)
    if token:
        query = (*query, ("continue", token))
    return Request(Method.GET, collection_path(resource, of.namespace), query)


def watch(resource: Resource, of: Selection, *, version: str, seconds: int) -> Request:
    """The changes after `version`, with bookmarks; the server ends the watch after `seconds`."""
    return _watch(resource, of, (("resourceVersion", version),), seconds)


def watch_list(resource: Resource, of: Selection, *, seconds: int) -> Request:
    """The current objects as a stream, ended by a marked bookmark, and then changes."""
    begin = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
    return _watch(resource, of, begin, seconds)


def _watch(resource: Resource, of: Selection, begin: tuple[tuple[str, str], ...], seconds: int) -> Request:
    bookmarks = (("watch", "true"), ("allowWatchBookmarks", "true"))
    query = (*bookmarks, *begin, ("timeoutSeconds", str(seconds)), *of.query)
    return Request(Method.GET, collection_path(resource, of.namespace), query)


def object_of(resource: Resource, fields: Mapping[str, object]) -> dict[str, object]:
    """An object of this kind on the wire."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, **fields}


def create(resource: Resource, fields: Mapping[str, object], namespace: str = "", *, manager: str) -> Request:
    body = msgspec.json.encode(object_of(resource, fields))
    return Request(Method.POST, collection_path(resource, namespace), (("fieldManager", manager),), body)


def merge_patch(  # noqa: PLR0913 - an address, a change, its condition and its author
    resource: Resource,
    name: str,
    namespace: str = "",
    *,
    change: Mapping[str, object],
    only_if: Precondition,
    manager: str,
    subresource: str = "",
) -> Request:
    """Change the named fields of exactly the object version that was read; else it is a conflict."""
    metadata = dict(_mapping(change.get("metadata")))
    metadata |= {"uid": only_if.uid, "resourceVersion": only_if.version}
    body = msgspec.json.encode({**change, "metadata": metadata})
    path = item_path(resource, name, namespace, subresource)
    return Request(Method.PATCH, path, (("fieldManager", manager),), body, Content.MERGE_PATCH)


def patch_as_read(
    resource: Resource,
    metadata: ObjectMeta,
    change: Mapping[str, object],
    subresource: str = "",
    *,
    manager: str,
) -> Request:
    """Return a merge patch of exactly the version in `metadata`."""
    return merge_patch(
        resource,
        metadata.name,
        metadata.namespace,
        change=change,
        only_if=version_in(metadata),
        manager=manager,
        subresource=subresource,
    )


def apply(
    resource: Resource,
    name: str,
    namespace: str = "",
    *,
    fields: Mapping[str, object],
    manager: str,
    subresource: str = "",
) -> Request:
    """Own the named fields completely. Never for Node taints: many controllers write that one list."""
    address = {"name": name, "namespace": namespace} if namespace else {"name": name}
    metadata = {**_mapping(fields.get("metadata")), **address}
    body = msgspec.json.encode({**object_of(resource, fields), "metadata": metadata})
    query = (("fieldManager", manager), ("force", "true"))
    path = item_path(resource, name, namespace, subresource)
    return Request(Method.PATCH, path, query, body, Content.APPLY_PATCH)


def delete(resource: Resource, name: str, namespace: str = "", *, only_if: Precondition) -> Request:
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": only_if.uid, "resourceVersion": only_if.version},
    }
    return Request(Method.DELETE, item_path(resource, name, namespace), (), msgspec.json.encode(options))


def delete_as_read(resource: Resource, metadata: ObjectMeta) -> Request:
    """Return the deletion of exactly the version in `metadata`."""
    return delete(resource, metadata.name, metadata.namespace, only_if=version_in(metadata))


def attempt_change(
    resource: Resource, name: str, namespace: str = "", *, change: Mapping[str, object], manager: str
) -> Request:
    """A dry-run patch. It is never stored, so it names no resourceVersion."""
    query = (("fieldManager", manager), ("dryRun", "All"))
    body = msgspec.json.encode(change)
    return Request(Method.PATCH, item_path(resource, name, namespace), query, body, Content.MERGE_PATCH)


def as_dry_run(request: Request) -> Request:
    """The same write, admitted and validated by the server, but not stored."""
    if request.method is Method.DELETE and request.body:
        # If a deletion has a body, the server reads its options only from there.
        options = {**msgspec.json.decode(request.body), "dryRun": ["All"]}
        return replace(request, body=msgspec.json.encode(options))
    return replace(request, query=(*request.query, ("dryRun", "All")))


def as_confirmed(request: Request) -> Request:
    """The same write, sent only after one more renewal of the leader's Lease."""
    return replace(request, confirmed=True)


@lru_cache(maxsize=4096)
def _segment(text: str) -> str:
    """One segment of a path. Cached, because every request quotes the same few names."""
    return quote(text, safe="")


def collection_path(resource: Resource, namespace: str = "") -> str:
    """Group and version are quoted too: they may come from a Machine's infrastructureRef."""
    parts = ("apis", resource.group, resource.version) if resource.group else ("api", resource.version)
    inside = ("namespaces", namespace) if namespace else ()
    return "".join([f"/{_segment(part)}" for part in (*parts, *inside, resource.plural)])


def item_path(resource: Resource, name: str, namespace: str = "", subresource: str = "") -> str:
    below = f"/{subresource}" if subresource else ""
    return f"{collection_path(resource, namespace)}/{_segment(name)}{below}"


def _mapping(value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise TypeError(f"metadata is {type(value).__name__}, not a mapping")


@dataclass(frozen=True, slots=True)
class LeaseAddress:
    name: str
    namespace: str


def get_lease(address: LeaseAddress) -> Request:
    return get(LEASE, address.name, address.namespace)


def create_lease(
    address: LeaseAddress, metadata: Mapping[str, object], spec: Mapping[str, object], *, manager: str
) -> Request:
    """Create the Lease, with its address and `metadata`."""
    metadata = {"name": address.name, "namespace": address.namespace, **metadata}
    return create(LEASE, {"metadata": metadata, "spec": spec}, address.namespace, manager=manager)


def patch_lease(
    address: LeaseAddress, only_if: Precondition, change: Mapping[str, object], *, manager: str
) -> Request:
    """Change the named fields of exactly this version. Fields of other writers stay."""
    return merge_patch(
        LEASE, address.name, address.namespace, change=change, only_if=only_if, manager=manager
    )
