"""Directed seeds: managers count no more than has passed, for the node and for its peers."""

from typing import ClassVar, Final

from nodemend.protocol.peers import PeerReply
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.self_fencing.network import API
from tests.simulation.self_fencing_nodes.api_store import SentRequest
from tests.simulation.self_fencing_nodes.directed import (
    A_PARALLEL_READ,
    RELEASED_WITHIN,
    RENEWS_WITHIN,
    SICK,
    WATCHED_FOR,
    Directed,
    LongestLife,
    Quick,
    answer_reads,
)

SLEWED: Final = 1.1
"""Fastest rate to which time synchronization slews a clock."""
A_PEERS_READ: Final = 1.9
"""Delay in seconds of the reply to a peer that reads the node's Lease, just within its deadline of 2."""
A_QUESTION: Final = 0.2
"""Seconds from a question to the marker: peers have read the Lease by then."""
BEGUN_WITHIN: Final = 3.0
"""Seconds from a complaint within which a remediation begins."""
OUTAGE: Final = 100.0
"""Seconds. Longer than a node lives without an API check and without its peers."""
GATED_FOR: Final = 60.0
"""Seconds in which managers notice that gates wait."""


class SlewedClocks(LongestLife):
    """Time synchronization slews the clocks of all managers forward while they count."""

    family: ClassVar[str] = "SlewedClocks"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        for replica in cluster.world.replicas:
            replica.clock.slewed_from = cluster.scheduler.now
            replica.clock.slewed = chance.uniform(1.05, SLEWED)
        cluster.invariants.on_marked = self._marked
        self._by_renewal()
        self.has_revocation()
        cluster.run(WATCHED_FOR)


class LateWords(LongestLife):
    """The node lives by its peers' answers, which arrive late: their last API check precedes the marker.

    Only its kubelet reaches the API server. Managers are paused until the node asks its peers.
    """

    family: ClassVar[str] = "LateWords"

    def play(self) -> None:
        cluster = self.cluster
        self.sick.kubelet_apart = True
        self.settle()
        self._asked: list[float] = []
        cluster.network.sending = self._asks
        cluster.store.answering = lambda _who, asked, _well: (
            A_PEERS_READ if asked is SentRequest.OTHER_READ else 0.0
        )
        cluster.cut([SICK])
        cluster.run(self.chance.uniform(40.0, 48.0))
        cluster.world.run(self._following() - BEGUN_WITHIN)
        cluster.invariants.on_begun = lambda name: self._wait_for_question() if name == SICK else None
        cluster.invariants.on_marked = lambda name: self._spoken() if name == SICK else None
        cluster.complain(SICK)
        self.has_revocation()
        self._read_at_once()
        cluster.run(WATCHED_FOR - RELEASED_WITHIN)
        self.released_in_time()

    def _asks(self, sender: str, receiver: str) -> None:
        now = self.cluster.scheduler.now
        if sender == SICK and receiver != API and (not self._asked or now > self._asked[-1] + 1.0):
            self._asked.append(now)

    def _following(self) -> float:
        """Return the time of the node's next question but one at most: it asks at equal intervals."""
        before, last = self._asked[-2:]
        following = last
        while following < self.cluster.scheduler.now + BEGUN_WITHIN:
            following += last - before
        return following

    def _wait_for_question(self) -> None:
        """Pause the managers until shortly after the node's next question."""
        cluster = self.cluster
        cluster.invariants.on_begun = lambda _name: None
        before, last = self._asked[-2:]
        until = 2 * last - before + A_QUESTION
        for replica in cluster.remediators:
            replica.process.pause(max(0.0, until - cluster.scheduler.now))

    def _spoken(self) -> None:
        """Cut the node off when the answers under way have arrived."""
        self.sick.lives_longest, self.sick.kubelet_apart = True, False
        self.sick.connect()
        self.cluster.scheduler.after(A_PEERS_READ + A_QUESTION, lambda: self.cluster.isolate(SICK))


class LateReads(LongestLife):
    """Renewals are lost, and API checks beside them are answered late: the last one precedes the marker."""

    family: ClassVar[str] = "LateReads"

    def play(self) -> None:
        cluster = self.cluster
        self.settle()
        cluster.invariants.on_marked = self._marked
        cluster.store.answering = answer_reads(A_PARALLEL_READ)
        cluster.run(RENEWS_WITHIN + self.chance.uniform(0.0, 2.0))
        cluster.complain(SICK)
        self.has_revocation()
        cluster.run(WATCHED_FOR - 40.0)
        self.released_in_time()


class LongOutage(Directed):
    """Most peers lose the API server permanently, and the node lives on by what they say."""

    family: ClassVar[str] = "LongOutage"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        self.mark()
        lost = chance.sample(self.peers, chance.choice((3, 4)))
        # Managers have seen them renew: otherwise they do not count at all.
        cluster.run(chance.uniform(8.0, 15.0))
        cluster.cut(lost)
        cluster.join(lost, SICK)
        cluster.run(WATCHED_FOR)


class HalfLost(Directed):
    """Half of the peers say that they cannot reach the API server: one that cannot, and a Byzantine one."""

    family: ClassVar[str] = "HalfLost"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        byzantine_peer, lost = chance.sample(self.peers, 2)
        cluster.nodes[byzantine_peer].lies_as = PeerReply.API_OUT_OF_REACH
        self.mark()
        cluster.cut([lost])
        cluster.run(chance.uniform(16.0, 20.0))
        cluster.join((byzantine_peer, lost), SICK)
        cluster.run(WATCHED_FOR)
        self.released_in_time()


class CertificatesLost(Directed):
    """Most nodes have no certificate any longer when the API server is lost for all: no node may end."""

    family: ClassVar[str] = "CertificatesLost"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        cluster.around.uncertified |= set(chance.sample(list(cluster.nodes), 3))
        cluster.run(chance.uniform(60.0, 80.0))
        boots = {name: node.boot_id for name, node in cluster.nodes.items()}
        cluster.store.down = True
        cluster.run(OUTAGE)
        ended = [name for name, node in cluster.nodes.items() if node.boot_id != boots[name]]
        if ended:
            raise InvariantBrokenError(f"I9: {', '.join(ended)} ended when the API server was lost for all")


class GatesWait(Directed):
    """The gates of two of six peers wait for an operator: the others are enough to prove the node's end."""

    family: ClassVar[str] = "GatesWait"

    nodes = 7

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        waiting = chance.sample(self.peers, 2)
        cluster.around.held_back |= set(waiting)
        for name in waiting:
            cluster.nodes[name].chance = Quick()
            cluster.nodes[name].reset("its power fails")
        cluster.run(GATED_FOR + chance.uniform(0.0, 20.0))
        self.mark()
        cluster.run(WATCHED_FOR - 40.0)
        self.released_in_time()
