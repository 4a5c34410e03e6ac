"""Whom every node is to have for its peers, and how often it is to renew."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from nodemend.api.agent_lease import PeerEntry, PeerProposal
from nodemend.api.value_forms import parse_address
from nodemend.decide.peer_sampling import Peer, PeerRing
from nodemend.decide.renewal_pace import pace_for

MOST_SILENT: Final = 0.2
"""A share. Where more agents than that fall silent, their way to the API server has failed, not they: then
nobody gets other peers. Nor where so many that are somebody's peers have no address any more: after an outage
that was longer than their certificates all are without one for some minutes, and lists of the few who have
theirs already would bear the loss of nobody if the API server went away again. But who has too many such
peers gives all of them up, and lives on when it is cut off (decision 52)."""


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """One agent, as all Leases were looked through."""

    peer: Peer
    proposal: PeerProposal | None
    silent: bool
    """It has not renewed for so long that nobody should count on it."""
    marked: bool
    """It is being remediated: nothing but its marker is written to its Lease."""
    gated: bool = False
    """Its boot gate has reported, and no agent yet: its node may be back in a moment."""
    control_plane: bool = False
    """It runs a member of the control plane, as far as its Node or the API servers' addresses say."""

    @property
    def mute(self) -> bool:
        """It renews, and says nowhere to reach it: it has no certificate that lasts."""
        return not self.silent and parse_address(self.peer.address) is None

    @property
    def answers(self) -> bool:
        return not self.silent and not self.marked and not self.mute


def _falls_with_one(peers: Sequence[PeerEntry], members: AbstractSet[str]) -> bool:
    """Whether the loss of one node would end this one, too: with it the API server goes, and half its peers.

    Those who are left would say that they have lost it as well, but one of two is not more than half. One
    member of a control plane of up to two is enough for that; of three, one may fail.
    """
    of_them = sum(one.name in members for one in peers)
    return 1 <= len(members) <= 2 and of_them > 0 and 2 * (len(peers) - 1) <= len(peers)


def _are_away(agents: Sequence[AgentSeen]) -> bool:
    """So many that it is not their own doing."""
    most = MOST_SILENT * len(agents)
    silent, mute = sum(one.silent for one in agents), {one.peer.name for one in agents if one.mute}
    if silent + len(mute) <= most:
        return False
    listed = {entry.name for one in agents if one.proposal is not None for entry in one.proposal.peers}
    return silent + len(mute & listed) > most


def _is_unanswered(peers: Sequence[PeerEntry], mute: AbstractSet[str]) -> bool:
    """Whether the loss of one more peer could end a node with these peers in an outage of the API server.

    It then lives on by the answers of more than half of them, and those that are mute give none.
    """
    answering = sum(one.name not in mute for one in peers)
    return answering < len(peers) and 2 * (answering - 1) <= len(peers)


def _give_up_peers(agents: Sequence[AgentSeen]) -> Iterator[tuple[AgentSeen, PeerProposal]]:
    """One that is mute itself needs no proposal for that: without a certificate it gives its peers up.

    Nobody gives up a peer whose boot gate waits: that it has no address says nothing of its certificate, and
    the others would have no proof by time for as long as gates wait.
    """
    mute = {one.peer.name for one in agents if one.mute and not one.gated}
    for one in agents:
        if not one.answers or one.proposal is None:
            continue
        if _is_unanswered(one.proposal.peers, mute):
            yield one, PeerProposal(peers=(), every=one.proposal.every)


def propose_peers(agents: Sequence[AgentSeen]) -> Iterator[tuple[AgentSeen, PeerProposal]]:
    """What is to be proposed to whom, of those whom something else was proposed to."""
    if _are_away(agents):
        yield from _give_up_peers(agents)
        return
    ring, every = PeerRing(one.peer for one in agents if one.answers), pace_for(len(agents)).every
    members = frozenset(one.peer.name for one in agents if one.control_plane)
    for one in agents:
        if one.marked or one.silent:
            continue
        peers = tuple(PeerEntry(name=p.name, address=p.address) for p in ring.peers_of(one.peer.name))
        if _falls_with_one(peers, members):
            peers = ()
        wanted = PeerProposal(peers=peers, every=every)
        if wanted != one.proposal:
            yield one, wanted
