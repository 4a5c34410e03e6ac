"""Schedule of the passes over each host. Pure: time is an argument.

A host waits for one pass at a time, the earliest that was requested. So a change of the host replaces a later
due time, including a long back-off.
"""

from typing import Final

FIRST_DELAY: Final = 0.005
LONGEST_DELAY: Final = 1000.0


class HostQueue:
    """Keys with due times. A key whose pass is running can be queued again."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._in_a_row: dict[str, int] = {}

    def wake(self, key: str, now: float) -> None:
        self._due[key] = min(now, self._due.get(key, now))

    def take(self, now: float) -> str | None:
        """Return and remove the key that has been due for the longest time, or None."""
        key = min(self._due, key=lambda key: self._due[key], default=None)
        if key is None or self._due[key] > now:
            return None
        del self._due[key]
        return key

    def next_due(self) -> float | None:
        return min(self._due.values(), default=None)

    def settled(self, key: str) -> None:
        self._in_a_row.pop(key, None)

    def again(self, key: str, now: float, seconds: float) -> None:
        self._in_a_row.pop(key, None)
        self.wake(key, now + seconds)

    def at_once(self, key: str, now: float) -> None:
        """Queue the key in 5 ms; each consecutive call doubles the delay."""
        times = self._in_a_row.get(key, 0)
        self._in_a_row[key] = times + 1
        self.wake(key, now + min(FIRST_DELAY * 2.0 ** min(times, 63), LONGEST_DELAY))
