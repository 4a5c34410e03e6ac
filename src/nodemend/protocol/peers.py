"""Peers of a node: which nodes they are, what their answers mean, and when their certificates count.

A node that cannot reach the API server asks its peers, in two rounds, and concludes from their answers by a
complete table. Peers are proposed for every node together with its renewal interval; randomness is an
argument.

TLS checks everything about a peer's certificate except its validity times, which are judged here. An outage
of the API server for all nodes may last longer than certificates do, and no node gets a new one meanwhile. So
a certificate that was still valid when this node last had settled contact lets its owner report one thing:
that it cannot reach the API server either. For release safety, the manager's coverage rule limits the effect
of that reply, not certificates (docs/decisions/0066). All other replies of a peer count only while its
certificate is valid.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from math import ceil
from operator import itemgetter
from typing import Final, Protocol, TypeVar

from nodemend.api.agent import PeerEntry, PeerProposal
from nodemend.api.value_forms import parse_address
from nodemend.protocol.timing import pace_for

MOST_PEERS: Final = 15
WINDOW: Final = 2 * MOST_PEERS
"""Candidates of one node. Larger windows spread peers better over failure domains, and let a node that
claims its own domain into more lists."""
FIRST_ROUND: Final = 3
"""Least number of peers in the first round, if there are that many."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A node whose agent answers. `domain` is what fails together: a zone, a rack; empty if unknown.

    The node's own kubelet may have written it: it spreads peers, and decides nothing else.
    """

    name: str
    uid: str
    address: str
    """HOST:PORT, with brackets around an IPv6 host."""
    domain: str = ""


class NamedPeer(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=NamedPeer)


class PeerRing:
    """All nodes whose agents answer, each at its own place on one ring.

    A node's candidates are the WINDOW members after its place; its peers are taken from them in turns of
    failure domains. So a member is a candidate of at most WINDOW others, and its in-degree never exceeds
    twice the average, regardless of its labels: a kubelet may write its own zone label (docs/decisions/0065).
    A node that joins or leaves changes at most WINDOW lists, and two peers in each.
    """

    def __init__(self, candidates: Iterable[Peer]) -> None:
        self._members = sorted(((_place(one.name), one) for one in candidates), key=itemgetter(0))

    def peers_of(self, node: str) -> tuple[Peer, ...]:
        """Return at most MOST_PEERS peers, in turns of failure domains; never the node itself."""
        by_domain: defaultdict[str, list[Peer]] = defaultdict(list)
        for one in self._next_to(node):
            by_domain[one.domain].append(one)
        # Domains take turns in the order in which they appear on the ring, so no domain can claim a better
        # one.
        in_turns = zip_longest(*by_domain.values())
        return tuple(islice((one for one in chain.from_iterable(in_turns) if one is not None), MOST_PEERS))

    def _next_to(self, node: str) -> list[Peer]:
        begin = bisect_left(self._members, _place(node), key=itemgetter(0))
        end = begin + WINDOW + 1
        around = (*self._members[begin:end], *self._members[: min(begin, max(0, end - len(self._members)))])
        return [one for _, one in around if one.name != node][:WINDOW]


def first_round(peers: Sequence[N], chance: float) -> tuple[N, ...]:
    """Return a few consecutive peers; a list is in turns of failure domains. `chance` is in [0, 1)."""
    count = min(len(peers), max(FIRST_ROUND, ceil(len(peers) / 10)))
    begin = int(chance * len(peers))
    return tuple((*peers[begin:], *peers[:begin])[:count])


def second_round(peers: Sequence[N], asked: Iterable[N]) -> tuple[N, ...]:
    """Return all other peers; the node asks them at once."""
    names = {one.name for one in asked}
    return tuple(one for one in peers if one.name not in names)


def _place(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=8).digest()


MOST_SILENT: Final = 0.2
"""Fraction of agents that may be silent.

If more are silent, their path to the API server has failed, not the agents: then no node gets other peers.

The same applies if that many agents which are peers of others have no address any longer. After an outage
longer than the lifetime of their certificates, all agents lack one for some minutes. Peer lists made of the
few that already have a new one could tolerate no further loss if the API server failed again. But a node with
too many such peers gives up all its peers, and survives if it is cut off (decision 52).
"""


@dataclass(frozen=True, slots=True)
class PeerCandidate:
    """One agent in one pass over all Leases."""

    peer: Peer
    proposal: PeerProposal | None
    silent: bool
    """It has not renewed for so long that no node should rely on it."""
    marked: bool
    """It is under remediation: only its marker is written to its Lease."""
    gated: bool = False
    """Its boot gate has reported, but no agent yet: its node may be back shortly."""
    control_plane: bool = False
    """It runs a member of the control plane, according to its Node or the API servers' addresses."""

    @property
    def mute(self) -> bool:
        """True if it renews, but publishes no address: it has no certificate with enough lifetime left."""
        return not self.silent and parse_address(self.peer.address) is None

    @property
    def answers(self) -> bool:
        return not self.silent and not self.marked and not self.mute


def _falls_with_one(peers: Sequence[PeerEntry], members: AbstractSet[str]) -> bool:
    """Return whether the loss of one node takes the API server and half of this node's peers, and so ends it.

    The remaining peers would report the loss of the API server as well, but one of two is not more than half.
    One member of a control plane of up to two is enough for that; of three, one may fail.
    """
    of_them = sum(one.name in members for one in peers)
    return 1 <= len(members) <= 2 and of_them > 0 and 2 * (len(peers) - 1) <= len(peers)


def _are_away(agents: Sequence[PeerCandidate]) -> bool:
    """Return whether so many agents are silent or mute that the cause is not the agents."""
    most = MOST_SILENT * len(agents)
    silent, mute = sum(one.silent for one in agents), {one.peer.name for one in agents if one.mute}
    if silent + len(mute) <= most:
        return False
    listed = {entry.name for one in agents if one.proposal is not None for entry in one.proposal.peers}
    return silent + len(mute & listed) > most


def _is_unanswered(peers: Sequence[PeerEntry], mute: AbstractSet[str]) -> bool:
    """Return whether the loss of one more peer could end a node in an outage of the API server.

    The node then survives by the answers of more than half of its peers, and mute peers do not answer.
    """
    answering = sum(one.name not in mute for one in peers)
    return answering < len(peers) and 2 * (answering - 1) <= len(peers)


def _give_up_peers(agents: Sequence[PeerCandidate]) -> Iterator[tuple[PeerCandidate, PeerProposal]]:
    """Yield empty proposals for nodes with too many mute peers.

    A node that is mute itself needs no proposal: without a certificate it gives up its peers. No node gives
    up a peer whose boot gate waits: a missing address does not show that its certificate is missing, and
    otherwise the other nodes would have no time proof while gates wait.
    """
    mute = {one.peer.name for one in agents if one.mute and not one.gated}
    for one in agents:
        if not one.answers or one.proposal is None:
            continue
        if _is_unanswered(one.proposal.peers, mute):
            yield one, PeerProposal(peers=(), every=one.proposal.every)


def propose_peers(agents: Sequence[PeerCandidate]) -> Iterator[tuple[PeerCandidate, PeerProposal]]:
    """Yield each agent with its new proposal, if that differs from the current one."""
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


class PeerReply(StrEnum):
    """One peer's answer about this node."""

    HEALTHY = "healthy"
    """It has read this node's Lease since the question, and there is no marker for this boot."""
    FENCE_NOW = "condemned"
    """It has read this node's Lease since the question, and there is a marker for this boot."""
    API_OUT_OF_REACH = "api-out-of-reach"
    """It has had no acknowledged contact itself for K."""
    SILENT = "silent"
    """No answer in time, no trustworthy answer, or an answer that the peer could not determine it."""


class Verdict(StrEnum):
    HEALTHY = "healthy"
    """The feed lease is renewed, from the time the question was sent."""
    FENCE_NOW = "condemned"
    """The feed lease ends now, permanently for this boot."""
    OUTAGE = "control-plane-outage"
    """Also renewed: the manager cannot release by time while that many nodes cannot reach the API server."""
    ASK_THE_REST = "ask-the-rest"
    UNDETERMINED = "undetermined"
    """The feed lease is not renewed: it expires unless a better answer arrives."""
    UNDECIDABLE = "undecidable"
    """The node has no peers. Without peers it does not fence itself, and promises nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """Answers of the rounds so far. Peers of the published list that are not counted were silent."""

    peers: int
    """Size of the whole published list, whether its peers were asked or not."""
    healthy: int = 0
    fence_requested: int = 0
    out_of_reach: int = 0
    all_asked: bool = False
    healthy_wanted: int = 1
    """More than one protects against a Byzantine peer."""

    def __post_init__(self) -> None:
        said = self.healthy + self.fence_requested + self.out_of_reach
        if min(self.peers, self.healthy, self.fence_requested, self.out_of_reach) < 0 or said > self.peers:
            raise ValueError(f"more answers than peers: {self}")

    @property
    def majority(self) -> int:
        """More than half of the whole list. An outage and a marker cannot both have that many."""
        return self.peers // 2 + 1

    @property
    def fence_requests_needed(self) -> int:
        """A majority, so that a Byzantine minority never resets a node; never fewer than those tolerated.

        Release safety does not rest on it: a marked node that learns nothing ends with its feed lease.
        """
        return max(self.majority, self.healthy_wanted)


TABLE: Final[tuple[tuple[str, Callable[[Poll], bool], Verdict], ...]] = (
    ("there are no peers", lambda poll: poll.peers == 0, Verdict.UNDECIDABLE),
    (
        "enough have looked and seen no marker",
        lambda poll: poll.healthy >= min(poll.healthy_wanted, poll.peers),
        Verdict.HEALTHY,
    ),
    (
        "more than half of the whole list cannot reach the API either",
        lambda poll: poll.out_of_reach >= poll.majority,
        Verdict.OUTAGE,
    ),
    (
        "more than half of the whole list have seen the marker",
        lambda poll: poll.fence_requested >= poll.fence_requests_needed,
        Verdict.FENCE_NOW,
    ),
    ("not all were asked yet", lambda poll: not poll.all_asked, Verdict.ASK_THE_REST),
    ("all were asked", lambda poll: poll.all_asked, Verdict.UNDETERMINED),
)
"""The first row that holds decides. The last two are complementary, so one row always holds."""


def conclude(poll: Poll) -> Verdict:
    return next(verdict for _, holds, verdict in TABLE if holds(poll))


SETTLED_AFTER: Final = 900.0
"""Seconds of unbroken contact after which an outage is over permanently: by then every agent that can has
a new certificate. An API server that comes back only briefly must not void the certificates of all agents."""


class CertificateTrust(StrEnum):
    FULL = "full"
    OUTAGE_ONLY = "outage-only"
    """The peer may report that it cannot reach the API server, and nothing else."""
    NONE = "none"

    def admits(self, answer: PeerReply) -> bool:
        match self:
            case CertificateTrust.FULL:
                return True
            case CertificateTrust.OUTAGE_ONLY:
                return answer is PeerReply.API_OUT_OF_REACH
            case CertificateTrust.NONE:
                return False


@dataclass(frozen=True, slots=True)
class Validity:
    """Validity of a certificate: seconds since 1970, as the certificate states."""

    begins: float
    ends: float

    def lasts_at(self, wall: float) -> bool:
        return self.begins <= wall <= self.ends


def evaluate_validity(
    shown: Validity, authority: Sequence[Validity], wall: float, trusted_at: Sequence[float]
) -> CertificateTrust:
    """Return the trust in a certificate with this validity.

    `authority`: the authorities that may have signed it. `trusted_at`: the last settled contact, on wall
    clocks. A certificate that begins later than this node's contact is a newer one, and not worth less.
    """
    if shown.lasts_at(wall) and any(one.lasts_at(wall) for one in authority):
        return CertificateTrust.FULL
    if authority and any(shown.ends >= at for at in trusted_at):
        return CertificateTrust.OUTAGE_ONLY
    return CertificateTrust.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledContact:
    """Last time this node had contact with the API server and could have had any certificate replaced.

    `began`, `at`: of the unbroken contact, on CLOCK_BOOTTIME. `offset`: the difference of the wall clock to
    that at the first contact of this boot; later steps of the wall clock do not change it.
    """

    began: float
    at: float
    offset: float
    trusted_at: tuple[float, ...]
    """On the wall clock at that time, and on that of the first contact."""

    def renewed(self, now: float, wall: float, *, unbroken_for: float, heard: bool) -> "SettledContact":
        """Return the state after an acknowledged renewal.

        The last argument is True if this node has a certificate that lasts.
        """
        began = self.began if now - self.at < unbroken_for else now
        settled = heard and now - began >= SETTLED_AFTER
        trusted_at = (wall, now + self.offset) if settled else self.trusted_at
        return SettledContact(began=began, at=now, offset=self.offset, trusted_at=trusted_at)


def first_contact(now: float, wall: float) -> SettledContact:
    """Return the state at the first contact of this boot.

    Certificates that had expired by then are not trusted at all.
    """
    return SettledContact(began=now, at=now, offset=wall - now, trusted_at=(wall,))
