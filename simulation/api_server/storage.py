"""Simulated etcd: one revision counter for all objects, and every change since the last compaction.

Stored objects are plain dicts that are never changed. A write stores a new dict that shares the unchanged
parts, so an old version costs little and can be passed by reference within this package.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from nodemend.api.resources import Resource

Object = dict[str, Any]

encode = msgspec.json.Encoder().encode


class Stored:
    """One version of one object. Its JSON is encoded at most once."""

    __slots__ = ("_bare", "_body", "key", "object", "revision")

    def __init__(self, key: str, object_: Object, revision: int) -> None:
        self.key = key
        self.object = object_
        self.revision = revision
        self._bare: bytes | None = None
        self._body: bytes | None = None

    @property
    def bare(self) -> bytes:
        """The JSON without apiVersion and kind, as in the items of a list of a built-in kind."""
        if self._bare is None:
            inside = {name: part for name, part in self.object.items() if name not in {"apiVersion", "kind"}}
            self._bare = encode(inside)
        return self._bare

    @property
    def body(self) -> bytes:
        if self._body is None:
            self._body = encode(self.object)
        return self._body


class Change:
    """One change of an object. `after` is None for a deletion."""

    __slots__ = ("_lines", "_tombstone", "after", "before", "key", "revision")

    def __init__(self, key: str, revision: int, before: Stored | None, after: Stored | None) -> None:
        self.key = key
        self.revision = revision
        self.before = before
        self.after = after
        self._tombstone: Stored | None = None
        self._lines: dict[str, bytes] = {}

    @property
    def tombstone(self) -> Stored:
        """The last version with the revision of this change: the object in a DELETED watch event."""
        if self._tombstone is None:
            last = self.before.object if self.before else {"metadata": {}}
            self._tombstone = Stored(self.key, versioned(last, self.revision), self.revision)
        return self._tombstone

    def line(self, event: str) -> bytes:
        """Return the watch event of this change. It is encoded once for all watches."""
        line = self._lines.get(event)
        if line is None:
            version = self.tombstone if event == "DELETED" or self.after is None else self.after
            line = b'{"type":"%s","object":%s}\n' % (event.encode(), version.body)
            self._lines[event] = line
        return line


def versioned(object_: Object, revision: int) -> Object:
    return {**object_, "metadata": {**object_["metadata"], "resourceVersion": str(revision)}}


class Table:
    """All objects of one resource and their history. Keys are `name` or `namespace/name`, in etcd's order."""

    __slots__ = ("changes", "keys", "on_change", "resource", "revisions", "rows")

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.rows: dict[str, Stored] = {}
        self.keys: list[str] = []
        self.changes: list[Change] = []
        self.revisions: list[int] = []
        self.on_change: Callable[[Change], None] = lambda _change: None

    def rows_at(self, revision: int) -> dict[str, Stored]:
        """Return the objects at a revision. It undoes later changes, so recent revisions are cheap."""
        after = self.changes_after(revision)
        if not after:
            return self.rows
        rows = dict(self.rows)
        for change in reversed(after):
            if change.before is None:
                rows.pop(change.key, None)
            else:
                rows[change.key] = change.before
        return rows

    def row_at(self, key: str, revision: int) -> Stored | None:
        for change in self.changes_after(revision):
            if change.key == key:
                return change.before
        return self.rows.get(key)

    def changes_after(self, revision: int) -> list[Change]:
        if not self.revisions or self.revisions[-1] <= revision:
            return []
        return self.changes[bisect_right(self.revisions, revision) :]

    def forget_until(self, revision: int) -> None:
        kept = bisect_right(self.revisions, revision)
        del self.changes[:kept]
        del self.revisions[:kept]

    def sorted_keys(self, rows: dict[str, Stored]) -> list[str]:
        return self.keys if rows is self.rows else sorted(rows)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects at a revision. Stored objects never change, so the snapshot shares them."""

    revision: int
    rows: Mapping[Resource, dict[str, Stored]]


class Storage:
    """The tables under one revision counter."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.compacted = revision
        self._tables: dict[Resource, Table] = {}

    def add_table(self, resource: Resource) -> Table:
        table = self._tables[resource] = Table(resource)
        return table

    def tables(self) -> Iterator[Table]:
        return iter(self._tables.values())

    def put(self, table: Table, key: str, object_: Object) -> Stored:
        """Store a new version. The object gets the revision of this write."""
        self.revision += 1
        revision = self.revision
        before = table.rows.get(key)
        stored = Stored(key, versioned(object_, revision), revision)
        if before is None:
            insort(table.keys, key)
        table.rows[key] = stored
        self._note(table, Change(key, revision, before, stored))
        return stored

    def delete(self, table: Table, key: str) -> Stored:
        """Delete an object; return its last version with the revision of the deletion."""
        self.revision += 1
        before = table.rows.pop(key)
        del table.keys[bisect_right(table.keys, key) - 1]
        change = Change(key, self.revision, before, None)
        self._note(table, change)
        return change.tombstone

    def snapshot(self) -> Snapshot:
        rows = {resource: dict(table.rows) for resource, table in self._tables.items()}
        return Snapshot(self.revision, rows)

    def restore(self, snapshot: Snapshot, *, bump: int = 0) -> None:
        """Restore as `etcdutl snapshot restore --bump-revision` does. Objects keep their versions."""
        self.revision = self.compacted = snapshot.revision + bump
        for resource, table in self._tables.items():
            table.rows = dict(snapshot.rows.get(resource, {}))
            table.keys = sorted(table.rows)
            table.changes.clear()
            table.revisions.clear()

    def _note(self, table: Table, change: Change) -> None:
        table.changes.append(change)
        table.revisions.append(change.revision)
        table.on_change(change)

    def compact(self, revision: int) -> None:
        """Refuse lists at revisions before `revision`, and later pages of lists that began before it."""
        self.compacted = max(self.compacted, min(revision, self.revision))
