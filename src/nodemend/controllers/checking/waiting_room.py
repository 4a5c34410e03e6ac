"""Targets that are held, looked at again so many at a time: a storm of thousands costs no more than a few."""

from itertools import islice
from typing import Final, Generic, TypeVar

K = TypeVar("K")

LOOK_AGAIN: Final = 10.0
"""Seconds after which a held target is looked at again, if nothing changes before."""
AT_A_TIME: Final = 10
EVERY: Final = 0.2


class WaitingRoom(Generic[K]):
    """The longest asleep are woken first, and no more than are looked at: others wait in the same queue."""

    def __init__(self) -> None:
        self._asleep: dict[K, None] = {}
        self._woken: set[K] = set()
        """Those that nobody has looked at since."""

    def enter(self, key: K) -> None:
        self._asleep[key] = None

    def leave(self, key: K) -> None:
        """It is looked at now."""
        self._asleep.pop(key, None)
        self._woken.discard(key)

    def wake(self) -> list[K]:
        woken = list(islice(self._asleep, AT_A_TIME - len(self._woken)))
        for key in woken:
            del self._asleep[key]
        self._woken.update(woken)
        return woken

    def __bool__(self) -> bool:
        return bool(self._asleep)
