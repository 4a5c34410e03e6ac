"""What is still to come, the nearest first."""

from dataclasses import dataclass
from heapq import heappop, heappush

from nodemend.cli.simulate.invention import Invention
from nodemend.kube.remediation_record import RemediationRecord


@dataclass(frozen=True, slots=True)
class Failure:
    """An invention begins: now it is chosen who fails, and when each does."""

    of: Invention


@dataclass(frozen=True, slots=True)
class Recovery:
    """Likewise, for those who heal without a remediation."""

    of: Invention


@dataclass(frozen=True, slots=True)
class Fails:
    node: str


@dataclass(frozen=True, slots=True)
class Heals:
    node: str


@dataclass(frozen=True, slots=True)
class Over:
    """A remediation has taken its time."""

    record: RemediationRecord


@dataclass(frozen=True, slots=True)
class Look:
    """A deadline of one node."""

    node: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Nothing happens but that time has passed, and the guard may answer otherwise."""


Event = Failure | Recovery | Fails | Heals | Over | Look | Wake


class Agenda:
    """A heap of events. Those of one moment come in the order in which they were noted."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Event]] = []
        self._noted = 0
        self._wakes: set[float] = set()

    def note(self, at: float, event: Event) -> None:
        self._noted += 1
        heappush(self._heap, (at, self._noted, event))

    def wake(self, at: float) -> None:
        """Once a moment is enough."""
        if at not in self._wakes:
            self._wakes.add(at)
            self.note(at, Wake())

    @property
    def next_at(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def take(self, now: float) -> Event | None:
        """The next event of this moment; None when there is none left."""
        return heappop(self._heap)[2] if self.next_at == now else None
