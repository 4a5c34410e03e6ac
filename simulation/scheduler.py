"""Virtual time: a discrete-event scheduler that drives coroutines and callbacks, seeded and traced.

It uses one real thread and no real clock. The order of events depends only on the seed, so the seed replays a
failing run. The order of simultaneous events is drawn from the seed, so that code cannot rely on it.
"""

import hashlib
import heapq
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from simulation.request_log import RequestLog

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Start time of every simulated world."""

Callback = Callable[[], None]


class SimulationStuckError(AssertionError):
    """A run exceeded its limit of steps: an endless loop without progress of time."""


class Trace:
    """Log of a run, as a running hash and, with `keep`, as lines to read."""

    def __init__(self, *, keep: bool = False) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._keep = keep
        self.lines: list[str] = []
        self.count = 0

    def note(self, now: float, text: str) -> None:
        line = f"{now:12.6f}  {text}"
        self._hash.update(line.encode())
        self.count += 1
        if self._keep:
            self.lines.append(line)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class Timer:
    """A scheduled callback. Cancelling it after it ran has no effect."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None


class Scheduler:
    """Owns the time line of one simulated world."""

    MOST_STEPS: Final = 20_000_000

    def __init__(self, seed: int | str, *, keep_trace: bool = False) -> None:
        self.now = 0.0
        self.steps = 0
        self.trace = Trace(keep=keep_trace)
        self.requests = RequestLog(keep=keep_trace)
        self._seed = str(seed)
        self._order = self.chance("order of simultaneous events")
        self._heap: list[tuple[float, float, int, Timer]] = []
        self._sequence = 0

    def chance(self, purpose: str) -> random.Random:
        """Return a separate random stream, so that more draws for one purpose do not shift the others."""
        return random.Random(f"{self._seed}/{purpose}")

    def wall(self) -> datetime:
        """Return the true wall-clock time, which no simulated host can read."""
        return EPOCH + timedelta(seconds=self.now)

    def note(self, text: str) -> None:
        self.trace.note(self.now, text)

    def at(self, when: float, callback: Callback) -> Timer:
        timer = Timer(callback)
        self._sequence += 1
        heapq.heappush(self._heap, (max(when, self.now), self._order.random(), self._sequence, timer))
        return timer

    def after(self, seconds: float, callback: Callback) -> Timer:
        return self.at(self.now + seconds, callback)

    def run(self, until: float, *, stop: Callable[[], bool] | None = None) -> None:
        """Run all events up to `until`, or until `stop()` returns True between two events."""
        heap = self._heap
        while heap and heap[0][0] <= until and not (stop and stop()):
            self.now, _, _, timer = heapq.heappop(heap)
            if timer.callback is None:
                continue
            callback, timer.callback = timer.callback, None
            self.steps += 1
            if self.steps > self.MOST_STEPS:
                raise SimulationStuckError(f"{self.steps} steps by {self.now:.3f} s")
            callback()
        if not (stop and stop()):
            self.now = max(self.now, until)
