"""The targets that several checks select: the first check by name has each, and the others say so."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from nodemend.decide.explanation import spell_count

CONDITION: Final = "Overlapping"
OTHERS_FIRST: Final = "OthersComeFirst"
NO_OVERLAP: Final = "NoOverlap"
MOST_NAMED: Final = 5
NOTHING_LEFT: Final = "Other checks have all that it selects: see the condition Overlapping."


class Overlaps:
    """How many targets each check leaves to which others. Costs nothing for targets of one check alone."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[str, tuple[str, ...]]] = {}
        """By target: the check that has it, and those that select it too."""
        self._counts: dict[str, Counter[str]] = {}

    def note(self, target: str, owner: str, others: tuple[str, ...]) -> set[str]:
        """The checks for which that changes something."""
        before, now = self._left.get(target), (owner, others) if others else None
        if before == now:
            return set()
        changed = self._count(before, -1) | self._count(now, 1)
        if now is None:
            self._left.pop(target, None)
        else:
            self._left[target] = now
        return changed

    def forget(self, target: str) -> set[str]:
        """Not a target any more."""
        return self.note(target, "", ())

    def of_check(self, check: str) -> Mapping[str, int]:
        """How many of the targets that it selects each other check has."""
        return self._counts.get(check, {})

    def _count(self, left: tuple[str, tuple[str, ...]] | None, number: int) -> set[str]:
        if left is None:
            return set()
        owner, others = left
        for check in others:
            counts = self._counts.setdefault(check, Counter())
            counts[owner] += number
            if not counts[owner]:
                del counts[owner]
            if not counts:
                del self._counts[check]
        return set(others)


def spell_overlap(left: Mapping[str, int], watched: int, what: str) -> str:
    """Of which targets a check leaves to whom; nothing where it leaves none."""
    if not left:
        return ""
    lost = sum(left.values())
    by_number = sorted(left.items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{number} by {check}" for check, number in by_number[:MOST_NAMED])
    more = f" and others by {len(left) - MOST_NAMED} more checks" if len(left) > MOST_NAMED else ""
    selected, are = spell_count(lost + watched, what), spell_count(lost, "is", "are")
    return (
        f"Of the {selected} that it selects, {are} watched by checks whose name comes first: {named}{more}."
        f" It watches {watched}. Its thresholds, limits and remedies count for no others:"
        " narrow the selectors until each has one check."
    )
