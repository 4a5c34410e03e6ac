"""Watches, and the watch cache that serves them with its revision and its history."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from simulation.api_server.selectors import Filter
from simulation.api_server.statuses import Refusal, expired
from simulation.api_server.storage import Change, Object, Storage, Table

BOOKMARK_EVERY: Final = timedelta(minutes=1)
BOOKMARK_BEFORE_END: Final = timedelta(seconds=2)
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

Lag = int | Callable[[], int] | None


class SimulatedWatch:
    """One open watch. Buffers its lines until `take`."""

    def __init__(self, cache: "WatchCache", chosen: Filter, opened: datetime, deadline: datetime) -> None:
        self.filter = chosen
        self.deadline = deadline
        self.bookmarks = False
        self.ends_initial = False
        self.started_at = 0
        self.next_bookmark = min(opened + BOOKMARK_EVERY, deadline - BOOKMARK_BEFORE_END)
        self.waits_for: int | None = None
        self._cache = cache
        self._due: list[bytes | tuple[Change, str]] = []
        self._ended: str | None = None
        self._callback: Callable[[], None] | None = None

    @property
    def ended(self) -> str | None:
        """Reason why no more lines follow the buffered ones. None if the watch is open."""
        return self._ended

    def take(self) -> list[bytes]:
        """Return and remove the lines that are due, in order, each with its newline."""
        due, self._due = self._due, []
        return [one if isinstance(one, bytes) else one[0].line(one[1]) for one in due]

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` when lines become due or the watch ends."""
        self._callback = callback

    def close(self) -> None:
        """Close the watch from the client's side."""
        self._cache.leave(self)
        self._ended = self._ended or "closed by the client"
        self._callback = None

    def end(self, why: str) -> None:
        self._cache.leave(self)
        self._ended = why
        self.notify()

    def fail(self, refusal: Refusal) -> None:
        """Send an ERROR event and end the watch."""
        self._due.append(_line("ERROR", msgspec.json.encode(refusal.as_json())))
        self.end(refusal.message)

    def push(self, line: bytes) -> None:
        self._due.append(line)

    def offer(self, change: Change) -> bool:
        """Queue the change as this watch's filter shows it. Returns False if the filter hides it."""
        if change.revision <= self.started_at:
            return False
        chosen = self.filter
        if chosen.empty:
            passed, passes = change.before is not None, change.after is not None
        else:
            passed = change.before is not None and chosen.matches(change.before.object)
            passes = change.after is not None and chosen.matches(change.after.object)
        if passes:
            self._due.append((change, "MODIFIED" if passed else "ADDED"))
        elif passed:
            self._due.append((change, "DELETED"))
        return passes or passed

    def notify(self) -> None:
        if self._callback is not None:
            self._callback()


def _line(event: str, body: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (event.encode(), body)


class WatchCache:
    """The server's cache of one table: it serves watches, and reads that accept a stale state."""

    def __init__(self, table: Table, storage: Storage, empty: Object) -> None:
        self._table = table
        self._empty = empty
        self._storage = storage
        self._lag: Lag = None
        self._stirred = False
        self._shown = storage.revision
        self.oldest = storage.revision
        # Watches by namespace and name; the name is empty unless the watch's filter selects one name.
        self._watches: dict[tuple[str, str], dict[SimulatedWatch, None]] = {}
        table.on_change = self._see

    @property
    def revision(self) -> int:
        """The revision that this cache has reached."""
        if self._lag is None:
            return self._storage.revision
        behind = self._lag if isinstance(self._lag, int) else self._lag()
        self._shown = max(self._shown, min(behind, self._storage.revision))
        return self._shown

    def hold(self, lag: Lag) -> None:
        """Stay at a revision, or follow a function that returns one. None catches up and ends the delay."""
        self._shown = self.revision
        before = self._shown
        self._lag = lag
        self._show_after(before)

    def catch_up(self) -> None:
        """Publish changes that a delay by a function has released since the last call."""
        if self._lag is not None:
            self._show_after(self._shown)

    def _show_after(self, revision: int) -> None:
        reached = self.revision
        for change in self._table.changes_after(revision):
            if change.revision <= reached:
                self._publish(change)
        for watch in self.open_watches():
            if watch.waits_for is not None and watch.waits_for <= reached:
                self._send_initial(watch)
                watch.notify()

    def forget_until(self, revision: int) -> None:
        """Make watches that resume from before `revision` start over."""
        self.oldest = max(self.oldest, min(revision, self.revision))
        self._table.forget_until(min(self.oldest, self._storage.compacted))

    def begin_again(self) -> None:
        """Reset as after a restart of the server: the cache knows the current storage and no history."""
        for watch in self.open_watches():
            watch.end("the server went away")
        self._lag = None
        self._shown = self.oldest = self._storage.revision

    def _see(self, change: Change) -> None:
        self._stirred = True
        if self._lag is None:
            self._publish(change)

    def _publish(self, change: Change) -> None:
        if not self._watches:
            return
        for watch in self._interested(change.key):
            if watch.waits_for is None and watch.offer(change):
                watch.notify()

    def _interested(self, key: str) -> list[SimulatedWatch]:
        """Return the watches whose namespace and name match this key, without a scan over all watches."""
        namespace, _, name = key.rpartition("/")
        scopes = [("", ""), ("", name)]
        if namespace:
            scopes += [(namespace, ""), (namespace, name)]
        return [watch for scope in scopes if scope in self._watches for watch in self._watches[scope]]

    def open_watches(self) -> list[SimulatedWatch]:
        return [watch for scope in self._watches.values() for watch in scope]

    def join(self, watch: SimulatedWatch) -> None:
        self._watches.setdefault(_scope(watch), {})[watch] = None

    def leave(self, watch: SimulatedWatch) -> None:
        scope = self._watches.get(_scope(watch), {})
        scope.pop(watch, None)
        if not scope:
            self._watches.pop(_scope(watch), None)

    def begin_with_state(self, watch: SimulatedWatch, *, at_least: int, ends_with_bookmark: bool) -> None:
        """Send the current objects first, then changes. Waits while the cache is behind `at_least`."""
        watch.waits_for = at_least
        watch.ends_initial = ends_with_bookmark
        self.join(watch)
        if at_least <= self.revision:
            self._send_initial(watch)

    def _send_initial(self, watch: SimulatedWatch) -> None:
        watch.waits_for = None
        reached = self.revision
        rows = self._table.rows_at(reached)
        for key in self._table.sorted_keys(rows):
            if _in_namespace(key, watch.filter.namespace) and watch.filter.matches(rows[key].object):
                watch.push(_line("ADDED", rows[key].body))
        watch.started_at = reached
        if watch.ends_initial:
            watch.push(self.bookmark(initial=True))

    def begin_after(self, watch: SimulatedWatch, revision: int) -> None:
        """Send changes after `revision`, or an error if the cache no longer has all of them."""
        if revision < self.oldest:
            watch.fail(expired(f"too old resource version: {revision} ({self.oldest})"))
            return
        watch.started_at = revision
        for change in self._table.changes_after(revision):
            if change.revision <= self.revision and _in_namespace(change.key, watch.filter.namespace):
                watch.offer(change)
        self.join(watch)

    def bookmark(self, *, initial: bool = False) -> bytes:
        metadata: dict[str, object] = {"resourceVersion": str(self.revision)}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        return _line("BOOKMARK", msgspec.json.encode({**self._empty, "metadata": metadata}))

    def tick(self, now: datetime) -> None:
        """Send bookmarks and end watches that are due."""
        self.catch_up()
        if not self._watches:
            return
        for watch in self.open_watches():
            if now >= watch.deadline:
                watch.end("the time the watch was opened for is over")
            elif watch.bookmarks and now >= watch.next_bookmark:
                self._send_bookmark(watch, now)

    def _send_bookmark(self, watch: SimulatedWatch, now: datetime) -> None:
        last = watch.deadline - BOOKMARK_BEFORE_END
        watch.next_bookmark = min(now + BOOKMARK_EVERY, last) if now < last else watch.deadline
        # Like a real server whose etcd sends no progress events: no bookmark before the first change.
        if self._stirred and self.revision > watch.started_at and watch.waits_for is None:
            watch.push(self.bookmark())
            watch.notify()

    def next_due(self) -> datetime | None:
        times: Iterable[datetime] = (
            min(watch.next_bookmark, watch.deadline) if watch.bookmarks else watch.deadline
            for watch in self.open_watches()
        )
        return min(times, default=None)


def _scope(watch: SimulatedWatch) -> tuple[str, str]:
    return (watch.filter.namespace, watch.filter.exact("metadata.name") or "")


def _in_namespace(key: str, namespace: str) -> bool:
    return not namespace or key.startswith(f"{namespace}/")
