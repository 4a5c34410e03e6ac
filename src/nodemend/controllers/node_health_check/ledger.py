"""What each check last concluded about each of its targets, with counts that cost nothing to read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """One word for where a target stands, for people and metrics."""

    HEALTHY = "Healthy"
    SUSPECT = "Suspect"
    UNHEALTHY = "Unhealthy"
    HELD = "Held"
    REMEDIATING = "Remediating"
    UNJUDGED = "Unjudged"


@dataclass(frozen=True, slots=True)
class Entry:
    standing: Standing
    message: str = ""


HEALTHY = Entry(Standing.HEALTHY)


class Ledger:
    """One check's targets."""

    def __init__(self) -> None:
        self._special: dict[str, Entry] = {}
        self._healthy: set[str] = set()
        self._counts: Counter[Standing] = Counter()

    def __len__(self) -> int:
        return len(self._special) + len(self._healthy)

    def count(self, standing: Standing) -> int:
        return self._counts[standing]

    def find(self, target: str) -> Entry | None:
        return HEALTHY if target in self._healthy else self._special.get(target)

    def enter(self, target: str, entry: Entry) -> bool:
        """True when that is news."""
        before = self.find(target)
        if before == entry:
            return False
        self.strike(target)
        self._counts[entry.standing] += 1
        if entry == HEALTHY:
            self._healthy.add(target)
        else:
            self._special[target] = entry
        return True

    def strike(self, target: str) -> bool:
        """Not a target any more. True when it was one."""
        before = self.find(target)
        if before is None:
            return False
        self._counts[before.standing] -= 1
        self._healthy.discard(target)
        self._special.pop(target, None)
        return True

    def special(self, most: int) -> Iterator[tuple[str, Entry]]:
        """Those that are not simply healthy, by name, at most so many."""
        for name in sorted(self._special)[:most]:
            yield name, self._special[name]
