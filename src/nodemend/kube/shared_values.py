"""Equal values are kept once: most of what many objects say, all of them say."""

from collections.abc import Hashable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

H = TypeVar("H", bound=Hashable)

_MOST_SHARED = 65_536
_LONGEST_SHARED = 16 * 1024 * 1024
"""Characters of all texts together: whoever writes labels without end must not make us keep them for ever."""


class SharedValues:
    """Gives equal values back as one object, so that 100,000 nodes hold "Ready" once.

    Bounded: what comes after the bound is kept as it came, which costs memory and nothing else.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._length = 0

    def one(self, value: H) -> H:
        known: H | None = self._known.get(value)
        if known is not None:
            return known
        self._keep(value, value)
        return value

    def _keep(self, key: Hashable, value: object) -> None:
        length = _length_of(key)
        if len(self._known) < _MOST_SHARED and self._length + length <= _LONGEST_SHARED:
            self._length += length
            self._known[key] = value

    def mapping(self, values: dict[str, str]) -> dict[str, str]:
        """One that nobody changes."""
        key = tuple(values.items())
        known: dict[str, str] | None = self._known.get(key)
        if known is not None:
            return known
        kept = {self.one(name): self.one(value) for name, value in values.items()}
        self._keep(tuple(kept.items()), kept)
        return kept


def _length_of(value: object) -> int:
    """Of all texts in it. The objects around them count as some characters."""
    if isinstance(value, Struct):
        value = astuple(value)
    if isinstance(value, tuple):
        return 16 + sum(map(_length_of, value))
    return 16 + (len(value) if isinstance(value, str) else 0)
