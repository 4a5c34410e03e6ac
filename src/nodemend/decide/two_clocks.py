"""The least and the most that can have passed, by two clocks of one machine that may not agree.

One counts sleep, and is slewed by whoever keeps the time, by up to a tenth; nobody slews the other, and it
stands still in sleep. What must have lasted is counted by the slower of them, what must not be over by the
faster.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """Two moments compare by `least` with `least`, or by `most` with `most`."""

    least: float
    """At least so much has passed between two of these."""
    most: float


class TwoClocks:
    """Each is read at every moment that counts: what passed in between is weighed stretch by stretch."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._behind = 0.0
        self._ahead = 0.0

    def read(self, slewed: float, unslewed: float) -> Moment:
        """Both read just now."""
        if self._last is not None:
            ahead = (unslewed - self._last[1]) - (slewed - self._last[0])
            self._ahead += max(0.0, ahead)
            self._behind += max(0.0, -ahead)
        self._last = slewed, unslewed
        return Moment(slewed - self._behind, slewed + self._ahead)
