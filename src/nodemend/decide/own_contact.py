"""What a node knows of its own contact with the API: when it may tell a peer that there is none.

The other side of contact_evidence: a manager concludes from these numbers when this node cannot have said so.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnContact:
    """Times are of the clock that nobody slews (CLOCK_MONOTONIC_RAW).

    A manager counts on K seconds of true time. A clock that is slewed forward would show them too soon. This
    one shows them later, if at all: it stands still in sleep.
    """

    unslewed_at: float
    """When the last acknowledgement arrived, or when counting began: what was before is not known."""
    acknowledged: int
    steady_since: int
    age: float
    """K."""

    def out_of_reach(self, unslewed: float) -> bool:
        """Whether to tell a peer that this node cannot reach the API either."""
        return unslewed - self.unslewed_at >= self.age

    def acknowledge(self, number: int, unslewed: float) -> "OwnContact":
        """After the acknowledgement of that renewal has arrived.

        If this node could have denied its contact meanwhile, it is steady only from here on. A renewal that
        is sent before still says otherwise, and does no harm: it names no newer acknowledgement, and the
        older ones cover nothing any more.
        """
        steady = number if self.out_of_reach(unslewed) else self.steady_since
        return OwnContact(unslewed_at=unslewed, acknowledged=number, steady_since=steady, age=self.age)


def begin(number: int, unslewed: float, age: float) -> OwnContact:
    """After a start: `number` stood in the Lease that was just read, and nothing older is vouched for."""
    return OwnContact(unslewed_at=unslewed, acknowledged=number, steady_since=number, age=age)
