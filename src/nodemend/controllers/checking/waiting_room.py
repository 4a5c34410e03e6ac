"""Targets that are held, looked at again so many at a time: a storm of thousands costs no more than a few.

Who is held by nothing but the pace waits for a moment that is known, and is looked at just then.
"""

from itertools import islice
from typing import Final, Generic, TypeVar

from nodemend.decide.guard_holds import Pacing
from nodemend.decide.holds import Hold

K = TypeVar("K")

LOOK_AGAIN: Final = 10.0
"""Seconds after which a held target is looked at again, if nothing changes before."""
AT_A_TIME: Final = 10
EVERY: Final = 0.2
A_MOMENT: Final = 0.001
"""After a deadline, so that no rounding error makes us come before it and ask again."""


class WaitingRoom(Generic[K]):
    """The longest asleep are woken first, and no more than are looked at: others wait in the same queue."""

    def __init__(self) -> None:
        self._asleep: dict[K, None] = {}
        self._paced: dict[K, float] = {}
        """With when the interval is over. They are woken first, but leave half of the room to the others."""
        self._woken: set[K] = set()
        """Those that nobody has looked at since."""

    def enter(self, key: K, hold: Hold | None, now: float) -> float:
        """It is held for this reason. Seconds until somebody should be woken for it."""
        if hold is not None and isinstance(hold.reason, Pacing):
            remaining = hold.reason.remaining + A_MOMENT
            self._paced[key] = now + remaining
            return min(remaining, LOOK_AGAIN)
        self._asleep[key] = None
        return LOOK_AGAIN

    def leave(self, key: K) -> None:
        """It is looked at now."""
        self._asleep.pop(key, None)
        self._paced.pop(key, None)
        self._woken.discard(key)

    def wake(self, now: float) -> list[K]:
        room = AT_A_TIME - len(self._woken)
        paced = list(islice((key for key, until in self._paced.items() if until <= now), (room + 1) // 2))
        for key in paced:
            del self._paced[key]
        woken = paced + list(islice(self._asleep, room - len(paced)))
        for key in woken[len(paced) :]:
            del self._asleep[key]
        self._woken.update(woken)
        return woken

    def again_in(self, now: float) -> float | None:
        """Seconds until the next should be woken; None while nobody sleeps."""
        if self._asleep:
            return EVERY
        return max(EVERY, min(self._paced.values()) - now) if self._paced else None
