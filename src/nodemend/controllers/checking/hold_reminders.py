"""What is held for long under a check, told again: one sentence a check, however many nodes it is about."""

from collections import Counter
from typing import Final

from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.decide.explanation import spell_count
from nodemend.decide.hold_reminder import Lasting, remind

MOST_REASONS: Final = 3


class HoldReminders:
    """One leadership's memory: since when something has been held under each check, without a break."""

    def __init__(self, noun: str) -> None:
        """`noun` is what a target is called: node, machine."""
        self._noun = noun
        self._lasting: dict[str, Lasting] = {}

    def look(self, check: str, tally: Tally, now: float) -> tuple[str, float | None]:
        """What is to be told now, if anything; and in how many seconds to look again."""
        held = {name: entry for name, entry in tally.unwell.items() if _is_held(entry)}
        lasting, tell = remind(self._lasting.pop(check, None), held=bool(held), now=now)
        if lasting is None:
            return "", None
        self._lasting[check] = lasting
        return self._spell(held, len(tally), tell.lasted) if tell else "", lasting.due_in(now)

    def forget(self, check: str) -> None:
        self._lasting.pop(check, None)

    def _spell(self, held: dict[str, Entry], total: int, lasted: float) -> str:
        """How many of how many, for which reasons, and the commonest of these in full, at one of them."""
        reasons = Counter(entry.cause for entry in held.values()).most_common()
        shown = ", ".join(f"{cause} {number}" for cause, number in reasons[:MOST_REASONS])
        more = ", ..." if len(reasons) > MOST_REASONS else ""
        first = min(name for name, entry in held.items() if entry.cause == reasons[0][0])
        count = f"{len(held)} of {spell_count(total, self._noun)}"
        return (
            f"Held for {lasted / 60:.0f} min without a break: {count} ({shown}{more})."
            f" {first}: {held[first].message}"
        )


def _is_held(entry: Entry) -> bool:
    """Also under remediation: when the last remedy has not healed, a person is awaited."""
    return entry.standing is Standing.HELD or (entry.standing is Standing.REMEDIATING and bool(entry.cause))
