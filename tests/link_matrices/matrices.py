"""The API server, with a manager beside it, and nodes: which links are whole, and what follows for one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Final

from nodemend.agent.peer_desk import Question, judge
from nodemend.api.agent_lease import AgentReport
from nodemend.api.self_remediation import SelfRemediationSpec
from nodemend.decide.contact_evidence import Sightings, contact_of, covered_until
from nodemend.decide.peer_verdict import Answer
from nodemend.decide.proven_seconds import Look, PeerProof, count
from nodemend.decide.reboot_deadline import CLOCK_ERROR, WATCHDOGS
from nodemend.decide.time_proof import USUALLY, needed_for, weigh_time
from nodemend.kube.agent_lease import AgentLease, Failed, Found
from tests.link_matrices.life import UNTIL, Life, Line, W, live

LOOKS_EVERY: Final = 2.0
LIES: Final = (Answer.HEALTHY, Answer.API_OUT_OF_REACH)
"""What could keep a marked node alive."""
_LINES: Final = tuple(Line(heard, hears) for heard, hears in product((True, False), repeat=2))
_NODE: Final = "n0"
API: Final = 0
NODE: Final = 1
"""Of the parties of a matrix: that whose fate is asked for. The others are its peers."""


@dataclass(frozen=True, slots=True)
class Peer:
    """As a node meets it: its own line to the API server, and whether question and answer get through."""

    line: Line
    answers: bool
    lie: Answer | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """All that can matter to one node of a matrix: what links its peers have among themselves does not."""

    line: Line
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a node that is marked when the links are cut."""

    over_at: float
    """From then on no process of that boot runs, by all that is assumed."""
    released_at: float | None

    @property
    def wrong(self) -> bool:
        return self.released_at is not None and self.released_at < self.over_at


def cases(matrices: range, nodes: int) -> Counter[Case]:
    """Of the first node, in each matrix: a bit for every ordered pair of parties, the API server first."""
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
    """All that are not the same but for the names of the peers."""
    kinds = [Peer(line, answers) for line in _LINES for answers in (True, False)]
    for line in _LINES:
        for peers in combinations_with_replacement(kinds, nodes - 1):
            yield Case(line, peers)


def with_one_liar(case: Case) -> Iterator[Case]:
    """Each of the peers that answer, with each lie."""
    for number, peer in enumerate(case.peers):
        if peer.answers:
            for lie in LIES:
                liar = Peer(peer.line, answers=True, lie=lie)
                yield Case(case.line, (*case.peers[:number], liar, *case.peers[number + 1 :]))


@cache
def play(case: Case, liars: int = USUALLY.liars) -> Outcome:
    life = _life(case, marked=True)
    lines = tuple(peer.line for peer in case.peers)
    over = life.fed_until + WATCHDOGS * W
    return Outcome(over, _released_at(lines, life.report_at(0.0), liars))


@cache
def lives_on(case: Case) -> bool:
    """Whether a node that nobody has marked is still fed long after the cut."""
    return _life(case, marked=False).fed_until >= UNTIL


def should_live_on(case: Case) -> bool:
    """It reaches the API server; or two do for it; or more than half of its peers do not either."""
    looking = sum(peer.answers and peer.line.whole for peer in case.peers)
    denying = sum(peer.answers and not peer.line.whole for peer in case.peers)
    return case.line.whole or looking >= 2 or 2 * denying > len(case.peers)


def _life(case: Case, *, marked: bool) -> Life:
    names = _names(len(case.peers))
    peers = dict(zip(names, case.peers, strict=True))

    def say(name: str, now: float, lease: AgentLease) -> Answer:
        peer = peers[name]
        if peer.lie is not None or not peer.answers:
            return peer.lie or Answer.SILENT
        news = Found(lease) if peer.line.whole else Failed("cut")
        out_of_reach = _peer_life(peer.line).contact_at(now).out_of_reach(now)
        return judge(Question(0, _NODE, _NODE, "boot"), news, out_of_reach=out_of_reach)

    return live(_NODE, names, case.line, say, marked=marked)


def _names(peers: int) -> tuple[str, ...]:
    return tuple(f"n{number}" for number in range(1, peers + 1))


@cache
def _peer_life(line: Line) -> Life:
    """What its Lease and its own clock say depends on nobody else. It is taken to live on."""
    return live("peer", ("x", "y"), line, lambda _peer, _now, _lease: Answer.SILENT)


@cache
def _released_at(lines: tuple[Line, ...], report: AgentReport, liars: int) -> float | None:
    """By a manager that looks at all peers from the marker on; None if time never proves it."""
    needed = needed_for(report, SelfRemediationSpec())
    if not isinstance(needed, int):
        return None
    names = _names(len(lines))
    proof: dict[str, PeerProof] = {}
    sightings = dict.fromkeys(names, Sightings())
    now = 0.0
    while now < UNTIL:
        looks = {}
        for name, line in zip(names, lines, strict=True):
            contact = contact_of(_peer_life(line).report_at(now))
            sightings[name] = sightings[name].seen(contact.sequence, now)
            looks[name] = Look(contact, covered_until(contact, sightings[name], CLOCK_ERROR))
        proof = count(proof, looks, LOOKS_EVERY if now else 0.0)
        if weigh_time(proof, looks, now, report.peers, needed, liars).done:
            return now
        now += LOOKS_EVERY
    return None
