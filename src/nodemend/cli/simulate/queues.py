"""Who is unhealthy and has no remediation yet, in queues of which the guard says the same of everybody."""

from dataclasses import dataclass, field

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

    def __len__(self) -> int:
        """How many wait."""
        return len(self._where)

    def join(self, name: str, alike: Alike, now: float) -> None:
        """Whoever waits in the same queue already keeps their place."""
        if self._where.get(name) != alike:
            self.leave(name)
            self._where[name] = alike
            queue = self._queues.setdefault(alike, Queue())
            queue.waiting[name] = now
            queue.newcomers.append(name)

    def leave(self, name: str) -> float | None:
        """Since when it has waited; None for who did not."""
        alike = self._where.pop(name, None)
        if alike is None:
            return None
        queue = self._queues[alike]
        since = queue.waiting.pop(name)
        if not queue.waiting:
            del self._queues[alike]
        return since

    def in_order(self) -> list[tuple[str, Alike, Queue]]:
        """Every queue after whoever stands first in it; the longest waiting of all come first."""
        firsts = ((*queue.first, alike, queue) for alike, queue in self._queues.items())
        return [(name, alike, queue) for _, name, alike, queue in sorted(firsts, key=lambda one: one[:2])]
