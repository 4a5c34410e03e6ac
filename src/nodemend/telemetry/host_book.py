"""Which hosts we hold off, and since when; which we have marked unhealthy. Pure: time is an argument."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostName:
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class HeldFor:
    """A host, and the name of the remediation that holds it; empty where that is gone."""

    host: HostName
    remediation: str


class HostBook:
    """What the last look at all hosts showed. There are as many entries as hosts that are special now."""

    def __init__(self) -> None:
        self._held: dict[HeldFor, float] = {}
        self._unhealthy: frozenset[HostName] = frozenset()

    def look(self, held: Collection[HeldFor], unhealthy: Collection[HostName], *, wall: float) -> None:
        """All that there are. One that was held before for the same keeps its beginning."""
        self._held = {one: self._held.get(one, wall) for one in held}
        self._unhealthy = frozenset(unhealthy)

    def clear(self) -> None:
        self._held, self._unhealthy = {}, frozenset()

    def held(self) -> Iterator[tuple[HeldFor, float]]:
        """With seconds since 1970."""
        yield from self._held.items()

    def unhealthy(self) -> Iterator[HostName]:
        yield from self._unhealthy
