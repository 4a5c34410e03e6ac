"""How often an agent renews its Lease, and what follows from that: how long it may live on one clean look."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

RENEWALS_A_SECOND: Final = 1000
"""What all agents of a cluster may ask of its API server together: a tenth of what the kubelets of 100,000
nodes ask of it for their own Leases."""


FEW_PEERS: Final = 9
"""Fewer are had in small clusters alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalPace:
    """All in seconds, but for the two counts."""

    every: float = 5.0
    """From the end of one renewal to the next."""
    deadline: float = 3.0
    """Of one renewal, from its beginning: names, handshakes and retries included."""
    failures: int = 3
    """In a row, before peers are asked."""
    round_deadline: float = 3.0
    rounds: int = 2
    ping_every: float = 2.0
    slack: float = 3.0
    """For a machine that is busy, not sick."""
    ride_through: float = 0.0
    """An admin's own seconds: for so long a site that loses its uplink as a whole is not ended by it."""

    @property
    def retry(self) -> float:
        """After a failure, instead of `every`. The bound counts from sendings: trying sooner is safe."""
        return self.every / 5

    @property
    def feed_lease(self) -> float:
        """G: as long as it takes to fail, to ask peers and to be told. Any shorter resets healthy nodes."""
        return self._feed_lease_at(self.every)

    @property
    def contact_age(self) -> float:
        """K: without an acknowledged contact for so long, a peer may say that it cannot reach the API."""
        return 3 * self.every

    def look_every(self, peers: int) -> float:
        """Between looks that are made beside renewals while these fail, on the average.

        A node with few peers depends on its own looks; where it has many, they look for it. So all nodes of
        a large cluster together ask at most 2.5 times as often as they renew.
        """
        return self.every * (0.15 if peers < FEW_PEERS else 0.4)

    @property
    def look_deadline(self) -> float:
        """A server that is slow, and not away, is waited for: the lease still runs from the sending."""
        return 4 * self.deadline

    def every_within(self, longest: float) -> float:
        """No slower than a feed lease of `longest` allows, and never quicker than usual for that."""
        slowest = (longest - self._feed_lease_at(0.0)) / self.failures
        return min(self.every, max(USUAL_PACE.every, slowest))

    def riding(self, seconds: float, longest: float | None) -> "RenewalPace":
        """With so many seconds of ride-through, as far as a feed lease of `longest` allows."""
        plain = replace(self, ride_through=0.0)
        if longest is not None:
            seconds = min(seconds, max(0.0, longest - plain.feed_lease))
        return replace(plain, ride_through=seconds)

    def _feed_lease_at(self, every: float) -> float:
        failing = self.failures * (every + self.deadline)
        asking = self.rounds * self.round_deadline
        return failing + asking + self.ping_every + self.slack + self.ride_through


USUAL_PACE: Final = RenewalPace()


def pace_for(nodes: int) -> RenewalPace:
    """For a cluster of that many nodes: slower when there are so many that the API server would notice."""
    return replace(USUAL_PACE, every=max(USUAL_PACE.every, float(ceil(nodes / RENEWALS_A_SECOND))))
