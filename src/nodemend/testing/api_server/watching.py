"""Watches, and the cache that serves them: what it has seen, what it still remembers."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from nodemend.testing.api_server.selectors import Filter
from nodemend.testing.api_server.statuses import Refusal, expired
from nodemend.testing.api_server.storage import Change, Object, Storage, Table

BOOKMARK_EVERY: Final = timedelta(minutes=1)
BOOKMARK_BEFORE_END: Final = timedelta(seconds=2)
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

Lag = int | Callable[[], int] | None


class SimulatedWatch:
    """One open watch. Holds its lines until they are taken."""

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
        """Why no more lines will come, once the present ones are taken. None while it is open."""
        return self._ended

    def take(self) -> list[bytes]:
        """The lines that are due, in order, each with its newline."""
        due, self._due = self._due, []
        return [one if isinstance(one, bytes) else one[0].line(one[1]) for one in due]

    def subscribe(self, callback: Callable[[], None]) -> None:
        """`callback` is called whenever lines fall due or the watch ends."""
        self._callback = callback

    def close(self) -> None:
        """The client went away."""
        self._cache.leave(self)
        self._ended = self._ended or "closed by the client"
        self._callback = None

    def end(self, why: str) -> None:
        self._cache.leave(self)
        self._ended = why
        self.notify()

    def fail(self, refusal: Refusal) -> None:
        """An ERROR event, and the end."""
        self._due.append(_line("ERROR", msgspec.json.encode(refusal.as_json())))
        self.end(refusal.message)

    def push(self, line: bytes) -> None:
        self._due.append(line)

    def offer(self, change: Change) -> bool:
        """Queue the change as it looks through this watch's filter. False when it does not show."""
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
    """The server's memory of one table: serves watches, and reads that allow it to be behind."""

    def __init__(self, table: Table, storage: Storage, empty: Object) -> None:
        self._table = table
        self._empty = empty
        self._storage = storage
        self._lag: Lag = None
        self._stirred = False
        self._shown = storage.revision
        self.oldest = storage.revision
        # Watches by namespace, and by namespace and name where a filter names one.
        self._watches: dict[tuple[str, str], dict[SimulatedWatch, None]] = {}
        table.on_change = self._see

    @property
    def revision(self) -> int:
        """How far this cache has come."""
        if self._lag is None:
            return self._storage.revision
        behind = self._lag if isinstance(self._lag, int) else self._lag()
        self._shown = max(self._shown, min(behind, self._storage.revision))
        return self._shown

    def hold(self, lag: Lag) -> None:
        """Stay at a revision, or follow a function of one; None catches up and stays caught up."""
        self._shown = self.revision
        before = self._shown
        self._lag = lag
        self._show_after(before)

    def catch_up(self) -> None:
        """Show what a lag that is a function has let through since."""
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
        """Watches that resume from before `revision` are told to start over."""
        self.oldest = max(self.oldest, min(revision, self.revision))
        self._table.forget_until(min(self.oldest, self._storage.compacted))

    def begin_again(self) -> None:
        """As after a restart of the server: it knows what its store has now, and nothing from before."""
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
        """The watches whose namespace and name allow this key, without going through all of them."""
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
        """First the present objects, then changes. Waits while the cache is behind `at_least`."""
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
        """Changes after `revision`, or an error when they are no longer all remembered."""
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
        """Bookmarks and ends that are due."""
        self.catch_up()
        for watch in self.open_watches():
            if now >= watch.deadline:
                watch.end("the time the watch was opened for is over")
            elif watch.bookmarks and now >= watch.next_bookmark:
                self._send_bookmark(watch, now)

    def _send_bookmark(self, watch: SimulatedWatch, now: datetime) -> None:
        last = watch.deadline - BOOKMARK_BEFORE_END
        watch.next_bookmark = min(now + BOOKMARK_EVERY, last) if now < last else watch.deadline
        # Like a real server whose store does not speak by itself: none while nothing has ever happened.
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
