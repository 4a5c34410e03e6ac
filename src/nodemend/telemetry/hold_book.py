"""Since when each remediation has been held, and for what. Pure: time is an argument, memory is bounded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FORGOTTEN_AFTER: Final = 300.0
"""Seconds. A hold is seen again every few; one that is not has ended without anybody telling us."""
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Held:
    """Which remediation."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A hold that goes on. `since` is in seconds since 1970, `sentence` as it was first said."""

    reason: str
    sentence: str
    since: float
    seen_at: float
    released: bool = False
    """Whether the node's workloads run elsewhere by now."""


class HoldBook:
    """Remembers the present hold of each remediation."""

    def __init__(self) -> None:
        self._standing: dict[Held, Standing] = {}

    def note(
        self, held: Held, reason: str, sentence: str, *, wall: float, now: float, released: bool = False
    ) -> Standing:
        """The hold as it stands. For the same reason as before it keeps its beginning and its first words."""
        known = self._standing.pop(held, None)
        if known is None or known.reason != reason or now - known.seen_at > FORGOTTEN_AFTER:
            standing = Standing(reason, sentence, wall, now, released)
        else:
            standing = Standing(reason, known.sentence, known.since, now, released)
        # Popped and put back, so that the order of the dict is that of the last look.
        self._standing[held] = standing
        if len(self._standing) > _MOST:
            del self._standing[next(iter(self._standing))]
        return standing

    def find(self, held: Held) -> Standing | None:
        return self._standing.get(held)

    def strike(self, held: Held) -> None:
        self._standing.pop(held, None)

    def clear(self) -> None:
        self._standing.clear()

    def all(self, now: float) -> Iterator[tuple[Held, Standing]]:
        for held, standing in self._standing.items():
            if now - standing.seen_at <= FORGOTTEN_AFTER:
                yield held, standing


class ContradictionBook:
    """When each remediation was last seen to rest on evidence that was wrong, in seconds since 1970.

    It stays when the remediation is gone, and when another replica leads: somebody has to look all the same.
    """

    def __init__(self) -> None:
        self._seen: dict[Held, float] = {}

    def note(self, held: Held, wall: float) -> None:
        self._seen.pop(held, None)
        self._seen[held] = wall
        if len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]

    def all(self) -> Iterator[tuple[Held, float]]:
        yield from self._seen.items()
