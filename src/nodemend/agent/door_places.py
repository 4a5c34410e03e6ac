"""Who has to leave when somebody comes and there is no room. Pure: nothing here is a connection."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Guest = TypeVar("Guest", bound=Hashable)


@dataclass(slots=True)
class Places(Generic[Guest]):
    """So many in all, and so many from one source.

    Whoever comes is let in, and another leaves for it: a place that is kept by doing nothing would be a way
    to keep everybody else out. Of one source the oldest leaves; else the oldest of those who have the most.
    """

    most: int
    most_from_one: int
    _guests: dict[Guest, str] = field(default_factory=dict)

    def come(self, guest: Guest, source: str) -> Guest | None:
        """Who has to leave for this one."""
        leaving = self._who_leaves(source)
        if leaving is not None:
            del self._guests[leaving]
        self._guests[guest] = source
        return leaving

    def leave(self, guest: Guest) -> None:
        """Harmless for whoever had to leave before."""
        self._guests.pop(guest, None)

    def __len__(self) -> int:
        return len(self._guests)

    def _who_leaves(self, source: str) -> Guest | None:
        held = Counter(self._guests.values())
        if held[source] >= self.most_from_one:
            return self._oldest_of({source})
        if len(self._guests) < self.most:
            return None
        greatest = max(held.values())
        return self._oldest_of({one for one, count in held.items() if count == greatest})

    def _oldest_of(self, sources: set[str]) -> Guest:
        return next(guest for guest, source in self._guests.items() if source in sources)
