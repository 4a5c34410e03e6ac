"""A memory with a bound."""

from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MOST_REMEMBERED: Final = 10_000


class Recent(Generic[K, V]):
    """What was kept for each key. Forgets first what was kept the longest ago."""

    def __init__(self) -> None:
        self._kept: dict[K, V] = {}

    def find(self, key: K) -> V | None:
        return self._kept.get(key)

    def keep(self, key: K, value: V) -> None:
        # Taken out and put back, so that the order of the dict is that of the last keeping.
        self._kept.pop(key, None)
        self._kept[key] = value
        if len(self._kept) > _MOST_REMEMBERED:
            del self._kept[next(iter(self._kept))]
