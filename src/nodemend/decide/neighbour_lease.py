"""Whether a Lease by which others share a node says that one of them is at work on it."""

from dataclasses import dataclass
from typing import assert_never

from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import CannotRead, Hold


@dataclass(frozen=True, slots=True)
class NeighbourLease:
    """`holder` is empty when nobody has it. `lasts` is None when it does not say for how long it counts."""

    name: str
    holder: str
    lasts: float | None
    unchanged_for: float
    """Seconds for which we ourselves have seen it just so."""

    @property
    def is_over(self) -> bool:
        """By our own observation alone: the times in it are of another machine's clock."""
        return self.lasts is not None and self.unchanged_for >= self.lasts


def neighbour_at_work(lease: Seen[NeighbourLease]) -> Hold | None:
    """A lease that is not certainly over holds. What cannot be read may be held by anybody."""
    match lease:
        case Unreadable(why):
            return Hold(CannotRead("the Lease that medik8s has for this node", why))
        case Absent():
            return None
        case Present(found):
            if not found.holder or found.is_over:
                return None
            return Hold(OtherRemediation(f"{found.holder} (by the Lease {found.name})"))
        case _:
            assert_never(lease)
