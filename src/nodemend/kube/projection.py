"""What we keep of an object: where it lives, how its bytes are decoded, and what is left of it in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from nodemend.api.group_versions import Resource
from nodemend.api.object_meta import ObjectMeta


class Metadata(Protocol):
    """What identifies an object, whatever else is decoded of it."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class Wire(Protocol):
    """An object as it was decoded."""

    @property
    def metadata(self) -> Metadata: ...


W = TypeVar("W", bound=Wire)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """How much one list may be. A list that is more is not taken, and nothing of it is kept."""

    objects: int = 1_000_000
    pages: int = 4_000
    octets: int = 16 * 1024**3


OWN_LIST: Final = ListLimits()
"""Of our own API server. 100,000 Nodes are 200 pages and 1.4 GB."""
FOREIGN_LIST: Final = ListLimits(objects=8_000, pages=200, octets=128 * 1024**2)
"""Of a workload cluster's API server. 5,000 Nodes are 10 pages and 70 MB."""


@dataclass(frozen=True, slots=True)
class Projection(Generic[W, R]):
    """From bytes to record.

    `project(wire, old)` may return `old` itself when nothing that a record keeps has changed; a change that
    leaves the record equal wakes nobody. It may raise what decoding raises: then the object cannot be read.
    `uid_of` tells whether two records are of the same object. `streamed` kinds are listed as a stream where
    the server can, the others by pages.
    """

    resource: Resource
    wire: type[W]
    project: Callable[[W, R | None], R]
    uid_of: Callable[[R], str]
    streamed: bool = True
    limits: ListLimits = OWN_LIST


class _HasObjectMeta(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


K = TypeVar("K", bound=_HasObjectMeta)


def whole(resource: Resource, kind: type[K]) -> Projection[K, K]:
    """Keeps an object as its type has it. For kinds of our own, of which there are few."""
    return Projection(resource, kind, _as_it_is, _uid_of_whole)


def key_of(metadata: Metadata) -> str:
    """The key of an object in a cache: its name, after its namespace where it has one."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _as_it_is(wire: K, _old: K | None) -> K:
    return wire


def _uid_of_whole(record: _HasObjectMeta) -> str:
    return record.metadata.uid
