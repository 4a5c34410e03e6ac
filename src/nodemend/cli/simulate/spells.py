"""For how long each node was held, and why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from nodemend.decide.guard_holds import Pacing, TooManyAtOnce, TooManyUnhealthy
from nodemend.decide.holds import HoldReason

Sort = tuple[str, str]
"""Holds of one sort, which is a word and a scope, differ in their numbers alone."""
TURN: Final[Sort] = ("Turn", "")
"""Waiting for one's turn is one sort: for a free place and for the next beginning, by turns."""
TURN_REASONS: Final = frozenset({Pacing.__name__, TooManyAtOnce.__name__})


@dataclass(frozen=True, slots=True)
class Spell:
    """One node, held for one sort of reason. `until` is None when it still is at the end."""

    node: str
    sort: Sort
    since: float
    until: float | None

    def lasted(self, end: float) -> float:
        return (end if self.until is None else self.until) - self.since


class Spells:
    """Who is held now, and who was."""

    def __init__(self) -> None:
        self._now: dict[str, tuple[Sort, float]] = {}
        self._over: list[Spell] = []
        self._reasons: dict[Sort, HoldReason] = {}

    def hold(self, names: Iterable[str], reason: HoldReason, now: float) -> list[str]:
        """Returns those for whom that is news."""
        sort = sort_of(reason)
        self._reasons[sort] = _graver(self._reasons.get(sort), reason)
        news = [name for name in names if self._now.get(name, (None, 0.0))[0] != sort]
        for name in news:
            self.free(name, now)
            self._now[name] = sort, now
        return news

    def free(self, name: str, now: float) -> None:
        found = self._now.pop(name, None)
        # Whoever was held for no time at all was not held.
        if found is not None and found[1] < now:
            self._over.append(Spell(name, *found, now))

    def all(self) -> Iterator[Spell]:
        yield from self._over
        for name, (sort, since) in self._now.items():
            yield Spell(name, sort, since, None)

    def reason(self, sort: Sort) -> HoldReason:
        """With the gravest numbers that were seen."""
        return self._reasons[sort]


def sort_of(reason: HoldReason) -> Sort:
    word = type(reason).__name__
    if word in TURN_REASONS:
        return TURN
    return word, getattr(reason, "scope", "") or getattr(reason, "check", "")


def _graver(known: HoldReason | None, reason: HoldReason) -> HoldReason:
    match known, reason:
        case None, _:
            return reason
        case TooManyUnhealthy(unhealthy=before), TooManyUnhealthy(unhealthy=now) if now > before:
            return reason
        case Pacing(), TooManyAtOnce():
            return reason
        case _:
            return known
