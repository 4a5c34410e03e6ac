"""Targets that are held, looked at again so many at a time: a storm of thousands costs no more than a few."""

from typing import Final, Generic, TypeVar

K = TypeVar("K")

LOOK_AGAIN: Final = 10.0
"""Seconds after which a held target is looked at again, if nothing changes before."""
AT_A_TIME: Final = 50
EVERY: Final = 1.0


class WaitingRoom(Generic[K]):
    """The longest asleep are woken first."""

    def __init__(self) -> None:
        self._asleep: dict[K, None] = {}

    def enter(self, key: K) -> None:
        self._asleep[key] = None

    def leave(self, key: K) -> None:
        self._asleep.pop(key, None)

    def wake(self) -> list[K]:
        woken = list(self._asleep)[:AT_A_TIME]
        for key in woken:
            del self._asleep[key]
        return woken

    def __bool__(self) -> bool:
        return bool(self._asleep)
