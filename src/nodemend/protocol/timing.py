"""Times of the self-fencing protocol: renewal interval and feed lease, contact age, certificate life, clocks.

The renewal interval gives the feed lease: how long one clean API check lasts.

Peers do not answer a node that shows an expired certificate. A node that has promised to fence itself when no
peer answers would then reset for lack of a certificate, and all nodes together if the API server fails for
all. So long before that it publishes that it has no peers, and so promises nothing (decision 52).

A node reports to a peer that it has no contact only after K. safety.time_proof is the counterpart: from the
published numbers a manager concludes when this node cannot have reported that.

The two clocks of one machine may disagree. One counts sleep, and time synchronization slews it by up to a
tenth; the other is never slewed, but stops during sleep. A time that must have passed is counted by the
slower of them, a time that must not be over by the faster.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import Final

RENEWED_AFTER: Final = 1 / 4
"""Fraction of the lifetime after which a certificate is renewed, at the latest. The rest is how long the
API server may be down for all nodes: meanwhile no node gets a certificate, and none can withdraw a
promise."""
AGING_SHARE: Final = 2 / 3
"""Fraction of the lifetime. If less is left, a planned renewal has failed."""
ENDING_SHARE: Final = 1 / 2
"""Fraction of the lifetime. The API server may be down at least this long, regardless of earlier failures."""


class CertificateStanding(StrEnum):
    FRESH = "fresh"
    AGING = "aging"
    """It should have been replaced, and an admin should find out why it was not."""
    ENDING = "ending"
    """Nothing is promised that rests on it any longer."""
    OVER = "over"

    @property
    def lasts(self) -> bool:
        """True if a node with it relies on its peers, and they on it."""
        return self in (CertificateStanding.FRESH, CertificateStanding.AGING)


def evaluate_certificate(life: float, left: float, feed_lease: float) -> CertificateStanding:
    """Return the state.

    All arguments are seconds; `feed_lease` is G, which a node survives without its own API check.
    """
    if left <= 0:
        return CertificateStanding.OVER
    if left <= max(life * ENDING_SHARE, feed_lease):
        return CertificateStanding.ENDING
    return CertificateStanding.AGING if left <= life * AGING_SHARE else CertificateStanding.FRESH


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnContact:
    """Times are on the clock that is never slewed (CLOCK_MONOTONIC_RAW).

    A manager relies on K seconds of true time. A clock that is slewed forward would show them too early. This
    clock shows them later, if at all, because it stops during sleep.
    """

    unslewed_at: float
    """Time of the last acknowledgement, or the start of the count: the time before is unknown."""
    acknowledged: int
    steady_since: int
    age: float
    """K."""

    def out_of_reach(self, unslewed: float) -> bool:
        """Return whether to report to a peer that this node cannot reach the API server either."""
        return unslewed - self.unslewed_at >= self.age

    def acknowledge(self, number: int, unslewed: float) -> "OwnContact":
        """Return the state after the acknowledgement of that renewal.

        If this node could have reported no contact in the meantime, it is steady only from this number on. A
        renewal that was sent before still carries the old value. That is safe: it names no newer
        acknowledgement, and the older ones cover nothing any longer.
        """
        steady = number if self.out_of_reach(unslewed) else self.steady_since
        return OwnContact(unslewed_at=unslewed, acknowledged=number, steady_since=steady, age=self.age)


def begin(number: int, unslewed: float, age: float) -> OwnContact:
    """Return the state after a start. `number` is from the Lease just read; older contact proves nothing."""
    return OwnContact(unslewed_at=unslewed, acknowledged=number, steady_since=number, age=age)


RENEWALS_A_SECOND: Final = 1000
"""Renewals per second that all agents of a cluster may send to its API server: a tenth of what the
kubelets of 100,000 nodes send for their own Leases."""


FEW_PEERS: Final = 9
"""Only small clusters give a node fewer peers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalPace:
    """All in seconds, except the two counts."""

    every: float = 5.0
    """From the end of one renewal to the next."""
    deadline: float = 3.0
    """Timeout of one renewal, from its start: name resolution, handshakes and retries included."""
    failures: int = 3
    """Failures in a row before the agent asks its peers."""
    round_deadline: float = 3.0
    rounds: int = 2
    ping_every: float = 2.0
    slack: float = 3.0
    """Allowance for a machine that is busy but healthy."""
    ride_through: float = 0.0
    """Seconds that an admin adds: an outage of a whole site's uplink of this length does not reset its
    nodes."""

    @property
    def retry(self) -> float:
        """Seconds between attempts after a failure, instead of `every`.

        The feed lease counts from the time a request was sent, so retrying sooner is safe.
        """
        return self.every / 5

    @property
    def feed_lease(self) -> float:
        """G: the time to fail, to ask peers and to get their replies.

        A shorter lease resets healthy nodes.
        """
        return self._feed_lease_at(self.every)

    @property
    def contact_age(self) -> float:
        """K: a peer without acknowledged contact for this long may report that the API is out of reach."""
        return 3 * self.every

    def read_interval(self, peers: int) -> float:
        """Average seconds between the API checks that run beside the renewals while these fail.

        A node with few peers depends on its own checks; if it has many, they check for it. So all nodes of a
        large cluster together send at most 2.5 times as many requests as for renewals.
        """
        return self.every * (0.15 if peers < FEW_PEERS else 0.4)

    @property
    def read_deadline(self) -> float:
        """Timeout of one API check: it waits for a server that is slow but reachable.

        That is safe, because the feed lease still counts from the time the request was sent.
        """
        return 4 * self.deadline

    def every_within(self, longest: float) -> float:
        """Return the interval that a feed lease of `longest` allows, at least the default."""
        slowest = (longest - self._feed_lease_at(0.0)) / self.failures
        return min(self.every, max(USUAL_PACE.every, slowest))

    def riding(self, seconds: float, longest: float | None) -> "RenewalPace":
        """Return this pace with `seconds` of ride-through, as far as a feed lease of `longest` allows."""
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
    """Return the pace for a cluster of this size: slower if the API server's load would be noticeable."""
    return replace(USUAL_PACE, every=max(USUAL_PACE.every, float(ceil(nodes / RENEWALS_A_SECOND))))


@dataclass(frozen=True, slots=True)
class TwoClockTime:
    """A point in time. Compare `least` only with `least`, and `most` only with `most`."""

    least: float
    """The difference of two of these is the least time that passed between them."""
    most: float


class TwoClocks:
    """Both clocks are read at every moment that matters: the drift is added up interval by interval."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._behind = 0.0
        self._ahead = 0.0

    def read(self, slewed: float, unslewed: float) -> TwoClockTime:
        """Return the current moment. Both clocks were read just now."""
        if self._last is not None:
            ahead = (unslewed - self._last[1]) - (slewed - self._last[0])
            self._ahead += max(0.0, ahead)
            self._behind += max(0.0, -ahead)
        self._last = slewed, unslewed
        return TwoClockTime(slewed - self._behind, slewed + self._ahead)
