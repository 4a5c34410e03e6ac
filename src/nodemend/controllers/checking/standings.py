"""Where every target stands, with counts by check, by failure domain and in all that cost nothing to read."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nsmallest
from typing import Final, TypeVar

from nodemend.controllers.checking.overlaps import Overlaps
from nodemend.decide.guard_facts import Census

K = TypeVar("K")


class Standing(StrEnum):
    """One word for where a target stands, for people and metrics."""

    HEALTHY = "Healthy"
    SUSPECT = "Suspect"
    UNHEALTHY = "Unhealthy"
    HELD = "Held"
    REMEDIATING = "Remediating"
    UNJUDGED = "Unjudged"
    VANISHED = "Vanished"


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a target stands and why. Another `message` alone, such as another number in it, is no news."""

    standing: Standing
    cause: str = ""
    message: str = field(default="", compare=False)
    remedy: int = 0
    """Which of its remedies a target has come to, counted from 1; 0 before the first."""
    ordered_by: str = ""
    """Who ordered its remediation; empty where the check asks by itself."""


HEALTHY = Entry(Standing.HEALTHY)
REMEDIATING = Entry(Standing.REMEDIATING)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a target is counted: under its check, in its failure domain ("" for none), in its cluster."""

    check: str
    domain: str = ""
    cluster: str = ""


@dataclass(slots=True)
class Tally:
    """The targets of one check."""

    counts: Counter[Standing] = field(default_factory=Counter)
    unwell: dict[str, Entry] = field(default_factory=dict)
    """Those that are not simply healthy."""

    def __len__(self) -> int:
        return self.counts.total()

    def count(self, standing: Standing) -> int:
        return self.counts[standing]

    def worst(self, most: int) -> Iterator[tuple[str, Entry]]:
        """Those that are not simply healthy, by name, at most so many."""
        for name in nsmallest(most, self.unwell):
            yield name, self.unwell[name]


Stood = tuple[Place, Entry]
_NOBODY: Final[Counter[Standing]] = Counter()


class Standings:
    """All targets. Each stands in one place; moving it costs as much as entering it."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._shared: dict[Place, Place] = {}
        """As many as there are checks and domains."""
        self._tallies: defaultdict[str, Tally] = defaultdict(Tally)
        self._domains: defaultdict[tuple[str, str], Counter[Standing]] = defaultdict(Counter)
        self._clusters: defaultdict[str, Counter[Standing]] = defaultdict(Counter)
        self.overlaps = Overlaps()

    def __len__(self) -> int:
        return len(self._places)

    def find(self, target: str) -> Entry | None:
        place = self._places.get(target)
        return None if place is None else self._tallies[place.check].unwell.get(target, HEALTHY)

    def stood(self, target: str) -> Stood | None:
        place, entry = self._places.get(target), self.find(target)
        return (place, entry) if place is not None and entry is not None else None

    def place_of(self, target: str) -> Place | None:
        return self._places.get(target)

    def enter(self, target: str, place: Place, entry: Entry) -> bool:
        """True when that is news."""
        stood = self._places.get(target)
        if stood == place and self.find(target) == entry:
            if entry != HEALTHY:
                self._tallies[place.check].unwell[target] = entry
            return False
        if stood is not None:
            self.strike(target)
        # Thousands stand in one place, and share it.
        self._places[target] = place = self._shared.setdefault(place, place)
        self._add(place, entry.standing, 1)
        if entry != HEALTHY:
            self._tallies[place.check].unwell[target] = entry
        return True

    def strike(self, target: str) -> Place | None:
        """Not a target any more: where it stood, or None when it was none."""
        entry, place = self.find(target), self._places.pop(target, None)
        if place is None or entry is None:
            return None
        self._add(place, entry.standing, -1)
        tally = self._tallies[place.check]
        tally.unwell.pop(target, None)
        if not len(tally):
            del self._tallies[place.check]
        _drop_empty(self._domains, (place.cluster, place.domain))
        _drop_empty(self._clusters, place.cluster)
        return place

    def of_check(self, check: str) -> Tally:
        return self._tallies.get(check) or Tally()

    def unwell(self) -> Iterator[str]:
        """All that are not simply healthy."""
        for tally in self._tallies.values():
            yield from tally.unwell

    def census_of_check(self, check: str) -> Census:
        return _census(self.of_check(check).counts)

    def census_of_domain(self, place: Place) -> Census:
        return _census(self._domains.get((place.cluster, place.domain), _NOBODY))

    def census_of_cluster(self, cluster: str) -> Census:
        return _census(self._clusters.get(cluster, _NOBODY))

    def domains_of(self, cluster: str) -> list[str]:
        """The failure domains that have targets in a cluster, by name."""
        return sorted(domain for where, domain in self._domains if where == cluster and domain)

    def census(self) -> Census:
        return _census(sum(self._clusters.values(), _NOBODY))

    def _add(self, place: Place, standing: Standing, number: int) -> None:
        self._tallies[place.check].counts[standing] += number
        self._domains[place.cluster, place.domain][standing] += number
        self._clusters[place.cluster][standing] += number


def _drop_empty(counters: dict[K, Counter[Standing]], key: K) -> None:
    if not counters[key].total():
        del counters[key]


def _census(counts: Counter[Standing]) -> Census:
    total = counts.total()
    return Census(total, total - counts[Standing.HEALTHY], counts[Standing.REMEDIATING])
