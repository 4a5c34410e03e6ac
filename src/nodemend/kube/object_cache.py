"""The latest record of every object of one kind, and how fresh that is.

A cache wakes and explains; nothing irreversible is decided on it alone. One reflector writes it.
"""

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

import msgspec

R = TypeVar("R")


class Change(msgspec.Struct, Generic[R], frozen=True, gc=False):
    """One object came (`old` is None), went (`new` is None) or changed. Never both None."""

    key: str
    old: R | None
    new: R | None
    relisted: bool = False
    """By a new list, not by a watch: what happened to the object in between was not seen."""


class ObjectCache(Generic[R]):
    """Records by key (namespace/name, or the name alone). Times are monotonic."""

    def __init__(self, uid_of: Callable[[R], str]) -> None:
        self._uid_of = uid_of
        self._records: dict[str, R] = {}
        self.synced_at: float | None = None
        """When the last complete list was in; None until the first one is."""
        self.last_contact: float | None = None
        """The latest moment whose state the cache is known to hold, but for what is still on its way."""
        self.troubled_at: float | None = None
        """When reading last failed, or was not yet right again; None when it never did."""

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> R | None:
        return self._records.get(key)

    def all(self) -> Collection[R]:
        """A live view: do not hold it across an await."""
        return self._records.values()

    def keys(self) -> Collection[str]:
        return self._records.keys()

    def age(self, now: float) -> float:
        """Seconds since the cache last was known to be true; infinite before the first sync."""
        if self.synced_at is None or self.last_contact is None:
            return float("inf")
        return max(now - self.last_contact, 0.0)

    def put(self, key: str, record: R, changes: list[Change[R]]) -> None:
        """Keep a record, adding what that changed. An object that took another's name is two changes."""
        old = self._records.get(key)
        if record is old or record == old:
            return
        self._records[key] = record
        self._compare(key, old, record, changes)

    def drop(self, key: str, changes: list[Change[R]]) -> None:
        """Forget an object, adding the change if there was one."""
        old = self._records.pop(key, None)
        if old is not None:
            changes.append(Change(key, old, None))

    def replace(self, fresh: dict[str, R], changes: list[Change[R]]) -> None:
        """Become this complete list, adding every difference: what is not in it was deleted unseen."""
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
