"""The API server with a manager beside it, and nodes: the working links, and the outcome for one node."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Final

from nodemend.agent.peer_responder import StatusQuestion, answer_for
from nodemend.api.agent import AgentReport
from nodemend.api.self_remediation import SelfRemediationSpec
from nodemend.kube.outcome import LeaseFailed, LeaseFound
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import AgentLease
from nodemend.safety.time_proof import (
    CLOCK_ERROR,
    DEFAULT_ASSUMPTIONS,
    WATCHDOGS,
    PeerObservation,
    PeerProof,
    SequenceHistory,
    contact_of,
    count,
    covered_until,
    evaluate_time,
    needed_for,
)
from tests.campaigns.link_matrices.life import UNTIL, Life, Line, W, live

POLL_INTERVAL: Final = 2.0
LIES: Final = (PeerReply.HEALTHY, PeerReply.API_OUT_OF_REACH)
"""Answers that could keep a marked node alive."""
_LINES: Final = tuple(Line(heard, hears) for heard, hears in product((True, False), repeat=2))
_NODE: Final = "n0"
API: Final = 0
NODE: Final = 1
"""The evaluated node in a matrix. The others are its peers."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer, from the node's view: its own link to the API server, and whether query and answer pass."""

    line: Line
    answers: bool
    lie: PeerReply | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """All facts of a matrix that matter to one node: links between its peers do not."""

    line: Line
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a node that is marked when the links are cut."""

    over_at: float
    """From then on no process of that boot runs, by all assumptions."""
    released_at: float | None

    @property
    def wrong(self) -> bool:
        return self.released_at is not None and self.released_at < self.over_at


def cases(matrices: range, nodes: int) -> Counter[Case]:
    """The cases of the first node in each matrix: one bit per ordered pair of parties, API server first."""
    parties = range(nodes + 1)
    bit = {pair: 1 << number for number, pair in enumerate(permutations(parties, 2))}
    matters = sum(one for pair, one in bit.items() if API in pair or NODE in pair)
    counted: Counter[Case] = Counter()
    for matrix, times in Counter(matrix & matters for matrix in matrices).items():
        whole = {pair: bool(matrix & one) for pair, one in bit.items()}
        lines = [Line(whole[node, API], whole[API, node]) for node in parties[NODE:]]
        answers = [whole[NODE, peer] and whole[peer, NODE] for peer in parties[NODE + 1 :]]
        counted[Case(lines[0], tuple(map(Peer, lines[1:], answers)))] += times
    return counted


def classes(nodes: int) -> Iterator[Case]:
    """All cases that differ in more than the names of the peers."""
    kinds = [Peer(line, answers) for line in _LINES for answers in (True, False)]
    for line in _LINES:
        for peers in combinations_with_replacement(kinds, nodes - 1):
            yield Case(line, peers)


def with_one_byzantine_peer(case: Case) -> Iterator[Case]:
    """Each peer that answers is replaced by a Byzantine one, with each false answer."""
    for number, peer in enumerate(case.peers):
        if peer.answers:
            for lie in LIES:
                byzantine_peer = Peer(peer.line, answers=True, lie=lie)
                yield Case(case.line, (*case.peers[:number], byzantine_peer, *case.peers[number + 1 :]))


@cache
def play(case: Case, byzantine_peers: int = DEFAULT_ASSUMPTIONS.byzantine_peers) -> Outcome:
    life = _life(case, marked=True)
    lines = tuple(peer.line for peer in case.peers)
    over = life.fed_until + WATCHDOGS * W
    return Outcome(over, _released_at(lines, life.report_at(0.0), byzantine_peers))


@cache
def lives_on(case: Case) -> bool:
    """True if an unmarked node is still fed long after the cut."""
    return _life(case, marked=False).fed_until >= UNTIL


def should_live_on(case: Case) -> bool:
    """True if it, or two peers, reach the API server; or if more than half of its peers do not either."""
    looking = sum(peer.answers and peer.line.whole for peer in case.peers)
    denying = sum(peer.answers and not peer.line.whole for peer in case.peers)
    return case.line.whole or looking >= 2 or 2 * denying > len(case.peers)


def _life(case: Case, *, marked: bool) -> Life:
    names = _names(len(case.peers))
    peers = dict(zip(names, case.peers, strict=True))

    def say(name: str, now: float, lease: AgentLease) -> PeerReply:
        peer = peers[name]
        if peer.lie is not None or not peer.answers:
            return peer.lie or PeerReply.SILENT
        news = LeaseFound(lease) if peer.line.whole else LeaseFailed("cut")
        out_of_reach = _peer_life(peer.line).contact_at(now).out_of_reach(now)
        return answer_for(StatusQuestion(0, _NODE, _NODE, "boot"), news, out_of_reach=out_of_reach)

    return live(_NODE, names, case.line, say, marked=marked)


def _names(peers: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(1, peers + 1))


@cache
def _peer_life(line: Line) -> Life:
    """Its Lease and its own clock do not depend on other nodes. It is assumed to survive."""
    return live("peer", ("x", "y"), line, lambda _peer, _now, _lease: PeerReply.SILENT)


@cache
def _released_at(lines: tuple[Line, ...], report: AgentReport, byzantine_peers: int) -> float | None:
    """The time of release by a manager that reads all peers from the marker on; None if it never releases."""
    needed = needed_for(report, SelfRemediationSpec())
    if not isinstance(needed, int):
        return None
    names = _names(len(lines))
    proof: dict[str, PeerProof] = {}
    history = dict.fromkeys(names, SequenceHistory())
    now = 0.0
    while now < UNTIL:
        observations = {}
        for name, line in zip(names, lines, strict=True):
            contact = contact_of(_peer_life(line).report_at(now))
            history[name] = history[name].seen(contact.sequence, now)
            observations[name] = PeerObservation(contact, covered_until(contact, history[name], CLOCK_ERROR))
        proof = count(proof, observations, POLL_INTERVAL if now else 0.0)
        if evaluate_time(proof, observations, now, report.peers, needed, byzantine_peers).done:
            return now
        now += POLL_INTERVAL
    return None
