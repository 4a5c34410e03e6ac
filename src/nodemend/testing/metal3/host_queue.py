"""When each host is looked at next. Pure: time is an argument.

A host waits for one look at a time, the earliest that was asked for. So something that happens to it takes
the place of whatever it was waiting for: when that was a long back-off, there is no back-off any more.
"""

from typing import Final

FIRST_DELAY: Final = 0.005
LONGEST_DELAY: Final = 1000.0


class HostQueue:
    """Keys with due times. One that is being looked at waits again as soon as it is asked for."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._in_a_row: dict[str, int] = {}

    def wake(self, key: str, now: float) -> None:
        self._due[key] = min(now, self._due.get(key, now))

    def take(self, now: float) -> str | None:
        """The one that has been due for longest."""
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
        """In 5 ms; and when that comes again in a row, in twice the time before."""
        times = self._in_a_row.get(key, 0)
        self._in_a_row[key] = times + 1
        self.wake(key, now + min(FIRST_DELAY * 2.0 ** min(times, 63), LONGEST_DELAY))
