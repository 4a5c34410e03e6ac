"""By which times and peers a node goes, and what it has to publish so that nobody counts on less.

What lets the node live longer, or deny its contact sooner, is published before it is used; what does the
opposite is used before it is published. While peers are changed both lists are published, and the new one
counts from the acknowledgement on. A write without an answer may have been applied or not: both are covered.
"""

from dataclasses import replace

from msgspec import Struct, structs

from nodemend.api.agent_lease import PeerEntry, PeerProposal
from nodemend.decide.renewal_pace import USUAL_PACE, RenewalPace

Names = tuple[str, ...]


class Terms(Struct, frozen=True):
    """What a renewal publishes. `lists` has the peers in use, and the next ones where they differ.

    An empty list among them tells managers that no time proof is possible: without peers nothing is promised.
    """

    feed_lease: float
    contact_age: float
    lists: tuple[Names, ...]


class Conduct(Struct, frozen=True, kw_only=True):
    """What the node goes by. A value: each change gives another."""

    pace: RenewalPace = USUAL_PACE
    feed_lease: float = USUAL_PACE.feed_lease
    """G in use."""
    contact_age: float = USUAL_PACE.contact_age
    """K in use."""
    peers: tuple[PeerEntry, ...] = ()
    proposed: PeerProposal | None = None
    """What a manager proposed, until it is in use."""

    def consider(self, proposal: PeerProposal) -> "Conduct":
        """A proposal was seen. What makes the node live shorter, or deny later, is taken up at once."""
        every = max(USUAL_PACE.every, proposal.every)
        pace = self.pace if every == self.pace.every else replace(self.pace, every=every)
        told = {one.name: one for one in proposal.peers}
        return Conduct(
            pace=pace,
            feed_lease=min(self.feed_lease, pace.feed_lease),
            contact_age=max(self.contact_age, pace.contact_age),
            # The same node at another address is the same voice.
            peers=tuple(told.get(one.name, one) for one in self.peers),
            proposed=None if names(proposal.peers) == names(self.peers) else proposal,
        )

    def at_pace(self, pace: RenewalPace) -> "Conduct":
        """The same with other times; what lengthens the lease is used only once it is published."""
        if pace == self.pace:
            return self
        return structs.replace(self, pace=pace, feed_lease=min(self.feed_lease, pace.feed_lease))

    def terms(self, fed_for: float) -> Terms:
        """What the next renewal publishes. `fed_for`: for so long the feeder was already allowed to go on."""
        lists = [names(self.peers)]
        if self.proposed is not None:
            lists.append(names(self.proposed.peers))
        return Terms(
            feed_lease=max(self.feed_lease, self.pace.feed_lease, fed_for),
            contact_age=min(self.contact_age, self.pace.contact_age),
            lists=tuple(lists),
        )

    def acknowledge(self, terms: Terms) -> "Conduct":
        """These terms stand in the Lease: what had to be published first may be used."""
        conduct = structs.replace(
            self,
            feed_lease=min(terms.feed_lease, self.pace.feed_lease),
            contact_age=max(terms.contact_age, self.pace.contact_age),
        )
        if self.proposed is None or names(self.proposed.peers) not in terms.lists:
            return conduct
        return structs.replace(conduct, peers=self.proposed.peers, proposed=None)


def names(peers: tuple[PeerEntry, ...]) -> Names:
    return tuple(one.name for one in peers)
