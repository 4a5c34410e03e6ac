"""Directed seeds: no answer of peers may keep a node alive that a manager counts as ended."""

from functools import partial
from typing import ClassVar, Final

from nodemend.protocol.peers import PeerReply
from tests.simulation.self_fencing.network import API
from tests.simulation.self_fencing_nodes.api_store import SentRequest
from tests.simulation.self_fencing_nodes.directed import SICK, WATCHED_FOR, Directed

A_POLL: Final = 2.5
"""Seconds. A peer waits 2 for the Lease that another node asks about."""


class LooksFail(Directed):
    """Peers that the node asks cannot read its Lease at that moment, but have just renewed their own.

    Such a peer must not answer that it cannot reach the API server: its contact is younger than K, and a
    manager relies on it.
    """

    family: ClassVar[str] = "LooksFail"

    def play(self) -> None:
        cluster = self.cluster
        self.settle()
        self.mark()
        cluster.network.sending = self._asks
        cluster.join(self.peers, SICK)
        cluster.run(WATCHED_FOR)
        self.released_in_time()

    def _asks(self, sender: str, receiver: str) -> None:
        cluster = self.cluster
        if sender == SICK and receiver != API and (receiver, API) not in cluster.network.cut:
            cluster.counts["fault: a look fails"] += 1
            cluster.cut([receiver])
            cluster.scheduler.after(A_POLL, lambda: cluster.join([receiver]))


class PeersCutOff(Directed):
    """The node reaches some peers exactly when these have lost the API server for longer than K.

    They may report that, and it lives on: a manager counts them from the start when they are back.
    """

    family: ClassVar[str] = "PeersCutOff"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        self.mark()
        ends = cluster.scheduler.now + WATCHED_FOR
        cluster.run(chance.uniform(0.0, 4.0))
        while cluster.scheduler.now < ends:
            lost = chance.sample(self.peers, chance.choice((3, 4, 4)))
            cluster.counts[f"fault: {len(lost)} peers cut off"] += 1
            cluster.cut(lost)
            cluster.join(lost, SICK)
            cluster.run(chance.uniform(24.0, 30.0))
            cluster.cut(lost, SICK)
            cluster.join(lost)
            # Time until they have reported an acknowledgement.
            cluster.run(chance.uniform(10.0, 12.0))


class Liar(Directed):
    """One Byzantine peer reports to the node that it has no marker, or that the API server is unreachable.

    With two peers that are really cut off, the latter makes a majority that lets the node continue.
    """

    family: ClassVar[str] = "Liar"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        byzantine_peer, *lost = chance.sample(self.peers, 3)
        lie = chance.choice((PeerReply.API_OUT_OF_REACH, PeerReply.HEALTHY))
        cluster.nodes[byzantine_peer].lies_as = lie
        cluster.counts[f"fault: a peer says {lie}"] += 1
        self.mark()
        if lie is PeerReply.HEALTHY:
            cluster.join([byzantine_peer], SICK)
            cluster.run(WATCHED_FOR)
            return
        cluster.cut(lost)
        cluster.run(chance.uniform(16.0, 20.0))
        cluster.join((byzantine_peer, *lost), SICK)
        cluster.run(WATCHED_FOR - 20.0)


class Unacknowledged(Directed):
    """Renewals of most peers are applied, but their replies are lost: after K they deny their contact."""

    family: ClassVar[str] = "Unacknowledged"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        deaf = set(chance.sample(self.peers, chance.choice((3, 4))))

        def answer(who: str, asked: SentRequest, well: bool) -> float | None:
            """Reads of a peer's own Lease are answered, so it renews with the current version."""
            if (
                who not in deaf
                or asked is SentRequest.OWN_READ
                or (asked is SentRequest.OWN_WRITE and not well)
            ):
                return 0.0
            return None

        self.mark()
        cluster.run(chance.uniform(0.0, 6.0))
        cluster.counts["fault: acknowledgements lost"] += 1
        cluster.store.answering = answer
        cluster.run(chance.uniform(18.0, 24.0))
        cluster.join(deaf, SICK)
        cluster.run(WATCHED_FOR - 30.0)


class PeersChange(Directed):
    """Most nodes get certificates, and the node receives more peers just when it is cut off.

    Either both lists are published and it received no acknowledgement: it uses the old list, whose members
    cannot reach the API server. Or it received the new list and could not publish it: it uses the old list as
    well, and the members of the new list are cut off.
    """

    family: ClassVar[str] = "PeersChange"

    nodes = 7

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        old = set(chance.sample(self.peers, 2))
        late = set(self.peers) - old
        cluster.around.uncertified |= late
        self.settle()
        published = chance.random() < 0.5
        lost = old if published else late
        cluster.counts["fault: two lists" if published else "fault: a list unpublished"] += 1
        cluster.invariants.on_proposed = partial(self._proposed, published, lost)
        cluster.around.uncertified.clear()
        cluster.run(45.0)
        cluster.complain(SICK)
        self.has_revocation()
        cluster.run(WATCHED_FOR - 40.0)

    def _proposed(self, published: bool, lost: set[str], name: str) -> None:
        """Cut the node off after it has read its Lease, or after it has renewed it with both lists."""
        if name != SICK:
            return
        cluster, last = self.cluster, SentRequest.OWN_WRITE if published else SentRequest.OWN_READ

        def served(who: str, asked: SentRequest, well: bool) -> None:
            if who == SICK and asked is last and well:
                cluster.tell(f"{SICK} is lost while its peers change; so are {sorted(lost)}")
                cluster.cut((SICK, *sorted(lost)))

        def answer(who: str, asked: SentRequest, well: bool) -> float | None:
            lose = who == SICK and published and asked is SentRequest.OWN_WRITE and well
            return None if lose else 0.0

        cluster.store.served, cluster.store.answering = served, answer
