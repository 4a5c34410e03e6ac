"""Who is unhealthy and has no remediation yet, in queues of which the guard says the same of everybody."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from nodemend.cli.simulate.spells import Sort
from nodemend.controllers.checking.standings import Place


@dataclass(frozen=True, slots=True)
class Alike:
    """All by which the guard, or what comes after it, could tell two waiting targets apart."""

    place: Place
    excluded_by: str
    maintained_by: str
    remedy: int
    alone: str = ""
    """The name of a target that is like no other: of the control plane, or somebody else at work on it."""


@dataclass(slots=True)
class Queue:
    """By name, with when each came: whoever came first stands first."""

    waiting: dict[str, float] = field(default_factory=dict)
    newcomers: list[str] = field(default_factory=list)
    told: Sort | None = None
    """What those who are no newcomers have been told."""

    def tell(self, sort: Sort) -> list[str]:
        """Those who have not been told this yet."""
        news = self.newcomers if self.told == sort else list(self.waiting)
        self.newcomers, self.told = [], sort
        return [name for name in news if name in self.waiting]

    @property
    def first(self) -> tuple[float, str]:
        name, since = next(iter(self.waiting.items()))
        return since, name


class Queues:
    """Those who come at one moment must come in the order of their names."""

    def __init__(self) -> None:
        self._queues: dict[Alike, Queue] = {}
        self._where: dict[str, Alike] = {}
        self._near: defaultdict[tuple[str, str], set[Alike]] = defaultdict(set)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._where)

    def join(self, name: str, alike: Alike, now: float) -> None:
        """Whoever waits in the same queue already keeps their place."""
        if self._where.get(name) == alike:
            return
        self.leave(name)
        self._where[name] = alike
        queue = self._queues.setdefault(alike, Queue())
        queue.waiting[name] = now
        queue.newcomers.append(name)
        self._near[_where(alike)].add(alike)

    def leave(self, name: str) -> float | None:
        """Since when it has waited; None for who did not."""
        alike = self._where.pop(name, None)
        if alike is None:
            return None
        queue = self._queues[alike]
        since = queue.waiting.pop(name)
        if not queue.waiting:
            del self._queues[alike]
            self._near[_where(alike)].discard(alike)
        return since

    def all(self) -> Iterable[Alike]:
        return self._queues

    def near(self, places: Iterable[Place]) -> Iterable[Alike]:
        """Those in one of these places, or in one of their failure domains, and those of the lonely."""
        here = {_room(place) for place in places}
        return {alike for where in (*here, _LONELY) for alike in self._near.get(where, ())}

    def told(self, word: str) -> Iterable[Alike]:
        """Those who were last told this sort of hold."""
        return [alike for alike, queue in self._queues.items() if queue.told and queue.told[0] == word]

    def in_order(self, chosen: Iterable[Alike]) -> list[tuple[str, Queue]]:
        """Each after whoever stands first in it; the longest waiting of all come first."""
        firsts = ((*self._queues[alike].first, alike) for alike in chosen)
        return [(name, self._queues[alike]) for _, name, alike in sorted(firsts, key=_when_and_who)]


_LONELY: Final = ("", "")


def _where(alike: Alike) -> tuple[str, str]:
    return _LONELY if alike.alone else _room(alike.place)


def _room(place: Place) -> tuple[str, str]:
    """A failure domain is one, whoever checks the nodes in it."""
    return ("domain", place.domain) if place.domain else ("check", place.check)


def _when_and_who(first: tuple[float, str, Alike]) -> tuple[float, str]:
    return first[:2]
