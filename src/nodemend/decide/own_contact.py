"""What a node knows of its own contact with the API: when it may tell a peer that there is none.

The other side of contact_evidence: a manager concludes from these numbers when this node cannot have said so.
"""

from dataclasses import dataclass
from typing import Final

SLEWED: Final = 1.11
"""How fast a clock may seem: the kernel slews by a tenth at most, and a little more by frequency. A manager
counts on K seconds of true time, so this node waits until they have certainly passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnContact:
    """Times are of this node's own clock.

    `at` is when the last acknowledgement arrived, or when counting began: what was before is not known.
    """

    at: float
    acknowledged: int
    steady_since: int
    age: float
    """K."""

    def out_of_reach(self, now: float) -> bool:
        """Whether to tell a peer that this node cannot reach the API either."""
        return now - self.at >= self.age * SLEWED

    def acknowledge(self, number: int, now: float) -> "OwnContact":
        """After the acknowledgement of that renewal has arrived.

        If this node could have denied its contact meanwhile, it is steady only from here on. A renewal that
        is sent before still says otherwise, and does no harm: it names no newer acknowledgement, and the
        older ones cover nothing any more.
        """
        steady = number if self.out_of_reach(now) else self.steady_since
        return OwnContact(at=now, acknowledged=number, steady_since=steady, age=self.age)


def begin(number: int, now: float, age: float) -> OwnContact:
    """After a start: `number` stood in the Lease that was just read, and nothing older is vouched for."""
    return OwnContact(at=now, acknowledged=number, steady_since=number, age=age)
