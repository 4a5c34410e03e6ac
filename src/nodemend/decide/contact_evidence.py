"""Whether a peer can have said "I cannot reach the API either": what a manager may conclude from its Lease.

A peer says so only when its last acknowledged contact is K old. With every renewal it publishes its number,
the highest number whose acknowledgement it has received, and since which number it has never been without an
acknowledged contact for K ("steady"). So a peer's own word covers the time between two looks of a manager,
and a manager that was paused, or took over, goes on where its predecessor was.
"""

from dataclasses import dataclass, field
from typing import Final

from nodemend.api.agent_lease import AgentReport

_REMEMBERED: Final = 8
"""Numbers with the times at which they were last seen. Forgetting older ones only dates evidence earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """What the Lease of one peer said at one linearizable read."""

    uid: str
    boot_id: str
    sequence: int
    acknowledged: int
    steady_since: int
    contact_age: float
    """K, as this peer goes by it."""
    remembers_from: int = 0

    def outlasts(self, version: int) -> bool:
        """Whether it has remembered since before this version was written.

        So it would have noticed if etcd had been restored since to an earlier state, and would not say this.
        """
        return 0 < self.remembers_from < version


def contact_of(report: AgentReport) -> Contact:
    return Contact(
        uid=report.node_uid,
        boot_id=report.boot_id,
        sequence=report.sequence,
        acknowledged=report.acknowledged,
        steady_since=report.steady_since,
        contact_age=report.contact_age,
        remembers_from=report.remembers_from,
    )


@dataclass(frozen=True, slots=True)
class Anchor:
    """From where on a peer is covered: as it stood at a read after the marker was acknowledged."""

    uid: str
    boot_id: str
    acknowledged: int

    def holds_for(self, contact: Contact) -> bool:
        """Whether the peer has been steady from the anchor to what it says now."""
        same = (contact.uid, contact.boot_id) == (self.uid, self.boot_id)
        return same and contact.steady_since <= self.acknowledged


def anchor_at(contact: Contact) -> Anchor:
    return Anchor(contact.uid, contact.boot_id, contact.acknowledged)


@dataclass(frozen=True, slots=True)
class Sightings:
    """When a manager last saw each number of one peer's renewals, the newest last. Its own clock alone."""

    last_seen: tuple[tuple[int, float], ...] = field(default=())

    def seen(self, sequence: int, asked_at: float) -> "Sightings":
        """With one more read. `asked_at` is when it was sent: what it did not show, happened later.

        Of reads side by side the answers may come in another order: one to an older question tells nothing.
        """
        kept = self.last_seen
        if kept and kept[-1][1] > asked_at:
            return self
        if kept and kept[-1][0] == sequence:
            kept = kept[:-1]
        elif kept and kept[-1][0] > sequence:
            # Numbers never fall within a boot: these are another's.
            kept = ()
        return Sightings((*kept, (sequence, asked_at))[-_REMEMBERED:])

    def not_before(self, sequence: int) -> float | None:
        """The latest time at which this number was certainly not committed yet; None if there is none."""
        for number, when in reversed(self.last_seen):
            if number < sequence:
                return when
        return None


def covered_until(contact: Contact, sightings: Sightings, clock_error: float) -> float | None:
    """Until when, by the manager's clock, this peer cannot have said so; None if nothing is known.

    It received the acknowledgement `contact.acknowledged` after that renewal was committed, which was after
    the last look that did not show it. Both clocks may be wrong: the manager's may run slow, the peer's fast.
    """
    since = sightings.not_before(contact.acknowledged)
    if since is None:
        return None
    return since + contact.contact_age * (1 - clock_error) / (1 + clock_error)
