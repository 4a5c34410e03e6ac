"""Equal values are kept once: most of what many objects say, all of them say."""

from collections.abc import Hashable
from typing import Any, TypeVar

H = TypeVar("H", bound=Hashable)

_MOST_SHARED = 65_536


class SharedValues:
    """Gives equal values back as one object, so that 100,000 nodes hold "Ready" once.

    Bounded: what comes after the bound is kept as it came, which costs memory and nothing else.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def one(self, value: H) -> H:
        known: H | None = self._known.get(value)
        if known is not None:
            return known
        if len(self._known) < _MOST_SHARED:
            self._known[value] = value
        return value

    def mapping(self, values: dict[str, str]) -> dict[str, str]:
        """One that nobody changes."""
        key = tuple(values.items())
        known: dict[str, str] | None = self._known.get(key)
        if known is not None:
            return known
        kept = {self.one(name): self.one(value) for name, value in values.items()}
        if len(self._known) < _MOST_SHARED:
            self._known[tuple(kept.items())] = kept
        return kept
