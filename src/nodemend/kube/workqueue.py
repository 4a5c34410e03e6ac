"""Work queue: selects the key to reconcile next.

Pure: time and chance are arguments; every operation is O(log n) or better.

- A key waits once, regardless of how often it is added; of several delays the earliest counts.
- A key that is being reconciled is never handed out a second time. If it is added meanwhile, it waits again
  afterwards.
- A key whose reconcile failed is not handed out before its back-off is over, also if it is added again:
  events keep arriving while an API server is overloaded, and must not add to its load.
- At most `most` keys are held. A full queue refuses new keys, but never known ones. It does not remember
  refused keys: once it is half empty, `take_overflow` returns True, and the caller must add all keys again,
  as space allows. So a full queue loses time, and no key.
"""

import heapq
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from nodemend.kube.flowcontrol import Backoff

K = TypeVar("K")

RETRY: Final = Backoff(first=0.5, most=60.0, spread=0.5)
MOST_KEYS: Final = 250_000
_SLACK: Final = 64


@dataclass(slots=True)
class _Failing:
    times: int
    not_before: float


class WorkQueue(Generic[K]):
    """Keys with due times. The caller that takes a key must end it: `done`, `again` or `failed`."""

    def __init__(self, *, retry: Backoff = RETRY, most: int = MOST_KEYS) -> None:
        if most < 1:
            raise ValueError(f"a queue of {most} keys holds nothing")
        self._retry = retry
        self._most = most
        self._due: dict[K, float] = {}
        # May hold entries that `_due` no longer agrees with; `next_due` skips them.
        self._heap: list[tuple[float, int, K]] = []
        self._pushed = 0
        self._working: dict[K, float | None] = {}
        self._failing: dict[K, _Failing] = {}
        self._overflowed = False
        self._draining = False

    def add(self, key: K, now: float, *, after: float = 0.0) -> bool:
        """Add a key, due in `after` seconds. False if it was refused."""
        if self._draining:
            return False
        due = now + max(after, 0.0)
        if key in self._working:
            asked = self._working[key]
            self._working[key] = due if asked is None else min(asked, due)
            return True
        if key not in self._due and len(self._due) + len(self._working) >= self._most:
            self._overflowed = True
            return False
        self._wait(key, due)
        return True

    def take(self, now: float) -> K | None:
        """Hand out the key that has been due for longest. None if no key is due."""
        due = self.next_due()
        if due is None or due > now:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self._due[key]
        self._working[key] = None
        return key

    def done(self, key: K) -> None:
        """Its reconcile succeeded."""
        self._failing.pop(key, None)
        self._finish(key, None)

    def again(self, key: K, now: float, after: float) -> None:
        """Its reconcile succeeded. The key is due again in `after` seconds."""
        self._failing.pop(key, None)
        self._finish(key, now + max(after, 0.0))

    def failed(self, key: K, now: float, chance: float) -> float:
        """Its reconcile failed. Returns the seconds of its back-off."""
        times = self._failing[key].times + 1 if key in self._failing else 1
        delay = self._retry.delay(times, chance)
        self._failing[key] = _Failing(times, now + delay)
        self._finish(key, now + delay)
        return delay

    def next_due(self) -> float | None:
        """Time at which the next key is due; None if no key waits."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    @property
    def waiting(self) -> int:
        return len(self._due)

    @property
    def half_empty(self) -> bool:
        return 2 * (len(self._due) + len(self._working)) <= self._most

    def take_overflow(self) -> bool:
        """True once after keys were refused, as soon as the queue is half empty."""
        if not self._overflowed or not self.half_empty:
            return False
        self._overflowed = False
        return True

    def drain(self) -> None:
        """Drop the waiting keys, accept no more, and let reconciles end."""
        self._draining = True
        self._due.clear()
        self._heap.clear()
        self._failing.clear()

    def _finish(self, key: K, due: float | None) -> None:
        if key not in self._working:
            raise ValueError(f"{key!r} is not being worked on")
        asked = self._working.pop(key)
        wanted = [moment for moment in (due, asked) if moment is not None]
        if self._draining:
            self._failing.pop(key, None)
        elif wanted:
            self._wait(key, min(wanted))

    def _wait(self, key: K, due: float) -> None:
        if key in self._failing:
            due = max(due, self._failing[key].not_before)
        known = self._due.get(key)
        if known is not None and known <= due:
            return
        self._due[key] = due
        self._pushed += 1
        heapq.heappush(self._heap, (due, self._pushed, key))
        if len(self._heap) > 2 * len(self._due) + _SLACK:
            self._forget_stale()

    def _forget_stale(self) -> None:
        """Rebuild the heap without stale entries. As many pushes as keys wait lie between two rebuilds."""
        self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)
