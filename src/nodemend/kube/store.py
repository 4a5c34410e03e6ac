"""Stores the latest record of every object of one kind, reduced from the object, and how fresh it is.

The cache triggers reconciles and explains; no irreversible decision rests on it alone. One reflector writes
it. Equal values are kept once, because many objects repeat mostly the same values.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from nodemend.api.resources import Resource

R = TypeVar("R")


class Change(msgspec.Struct, Generic[R], frozen=True, gc=False):
    """One object was added (`old` is None), deleted (`new` is None) or changed. Never both None."""

    key: str
    old: R | None
    new: R | None
    relisted: bool = False
    """True if a new list showed it, not a watch: the events of the object in between were not observed."""


class Store(Generic[R]):
    """Records by key (namespace/name, or the name alone). Times are monotonic."""

    def __init__(self, uid_of: Callable[[R], str]) -> None:
        self._uid_of = uid_of
        self._records: dict[str, R] = {}
        self.synced_at: float | None = None
        """Time at which the last complete list was in; None before the first one."""
        self.last_contact: float | None = None
        """The latest time whose state the cache is known to hold, except for events still in flight."""
        self.troubled_at: float | None = None
        """Time at which reading last failed, or had not recovered yet; None if it never failed."""

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> R | None:
        return self._records.get(key)

    def all(self) -> Collection[R]:
        """A live view: do not keep it across an await."""
        return self._records.values()

    def keys(self) -> Collection[str]:
        return self._records.keys()

    def age(self, now: float) -> float:
        """Seconds since the cache was last known to be current; infinite before the first sync."""
        if self.synced_at is None or self.last_contact is None:
            return float("inf")
        return max(now - self.last_contact, 0.0)

    def put(self, key: str, record: R, changes: list[Change[R]]) -> None:
        """Store a record, append its changes: two if another object took the name, else at most one."""
        old = self._records.get(key)
        if record is old or record == old:
            return
        self._records[key] = record
        self._compare(key, old, record, changes)

    def drop(self, key: str, changes: list[Change[R]]) -> None:
        """Remove an object and append the change, if the object was known."""
        old = self._records.pop(key, None)
        if old is not None:
            changes.append(Change(key, old, None))

    def replace(self, fresh: dict[str, R], changes: list[Change[R]]) -> None:
        """Become this complete list, append all differences: objects not in it were deleted unseen."""
        before, self._records = self._records, fresh
        for key, old in before.items():
            if key not in fresh:
                changes.append(Change(key, old, None, relisted=True))
        for key, new in fresh.items():
            known = before.get(key)
            if new is not known and new != known:
                self._compare(key, known, new, changes, relisted=True)

    def _compare(
        self, key: str, old: R | None, new: R, changes: list[Change[R]], *, relisted: bool = False
    ) -> None:
        if old is not None and self._uid_of(old) != self._uid_of(new):
            changes.append(Change(key, old, None, relisted))
            old = None
        changes.append(Change(key, old, new, relisted))


class Metadata(Protocol):
    """The identifying metadata that every decoded object has."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class WireMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The same fields for decoding, to be extended by the types that decode more."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class DecodedObject(Protocol):
    """An object as it was decoded."""

    @property
    def metadata(self) -> Metadata: ...


W = TypeVar("W", bound=DecodedObject)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """Maximum size of one list. A larger list is refused, and nothing of it is kept."""

    objects: int = 1_000_000
    pages: int = 4_000
    octets: int = 16 * 1024**3


OWN_LIST: Final = ListLimits()
"""For this cluster's API server. 100,000 Nodes are 200 pages and 1.4 GB."""
FOREIGN_LIST: Final = ListLimits(objects=8_000, pages=200, octets=128 * 1024**2)
"""For a workload cluster's API server. 5,000 Nodes are 10 pages and 70 MB."""


@dataclass(frozen=True, slots=True)
class Projection(Generic[W, R]):
    """Conversion from bytes to a record.

    `project(wire, old)` may return `old` itself if nothing that a record keeps has changed; a change that
    leaves the record equal triggers no reconcile. It may raise decoding errors: then the object is
    unreadable. Two records with the same `uid_of` are of the same object. `streamed` kinds are listed as a
    stream if the server supports it, the others by pages.
    """

    resource: Resource
    wire: type[W]
    project: Callable[[W, R | None], R]
    uid_of: Callable[[R], str]
    streamed: bool = True
    limits: ListLimits = OWN_LIST


def whole(resource: Resource, kind: type[W]) -> Projection[W, W]:
    """Keeps an object as its type. For Nodemend's own kinds, which have few objects."""
    return Projection(resource, kind, lambda wire, _: wire, lambda record: record.metadata.uid)


def key_of(metadata: Metadata) -> str:
    """The key of an object in a cache: namespace/name, or the name alone for a cluster-scoped object."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


H = TypeVar("H", bound=Hashable)

_MOST_SHARED = 65_536
_LONGEST_SHARED = 16 * 1024 * 1024
"""Characters of all texts together: a client that writes labels without limit must not fill the memory."""


class SharedValues:
    """Returns equal values as one object, so that 100,000 nodes hold "Ready" once.

    Bounded: values beyond the bound are not shared, which costs memory and nothing else.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._length = 0

    def one(self, value: H) -> H:
        known: H | None = self._known.get(value)
        if known is not None:
            return known
        self._keep(value, value)
        return value

    def _keep(self, key: Hashable, value: object) -> None:
        length = _length_of(key)
        if len(self._known) < _MOST_SHARED and self._length + length <= _LONGEST_SHARED:
            self._length += length
            self._known[key] = value

    def mapping(self, values: dict[str, str]) -> dict[str, str]:
        """A shared mapping, which callers must not change."""
        key = tuple(values.items())
        known: dict[str, str] | None = self._known.get(key)
        if known is not None:
            return known
        kept = {self.one(name): self.one(value) for name, value in values.items()}
        self._keep(tuple(kept.items()), kept)
        return kept


def _length_of(value: object) -> int:
    """Characters of all texts in it. The objects around them count as some characters."""
    if isinstance(value, Struct):
        value = astuple(value)
    if isinstance(value, tuple):
        return 16 + sum(map(_length_of, value))
    return 16 + (len(value) if isinstance(value, str) else 0)
