"""Directed seeds: what peers say, and when, must not keep a node alive that is counted as over."""

from functools import partial
from typing import Final

from nodemend.decide.peer_verdict import Answer
from tests.simulation.fencing.network import API
from tests.simulation.shipped_fencing.api_store import Asked
from tests.simulation.shipped_fencing.directed import SETTLED, SICK, WATCHED_FOR, Directed

A_LOOK: Final = 2.5
"""Seconds. A peer waits for 2 for the Lease that it was asked about."""


class LooksFail(Directed):
    """Whomever the sick node asks cannot read its Lease just then, and has renewed its own a moment ago.

    Such a peer must not say that it cannot reach the API server: its contact is younger than K, and a manager
    counts on it.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
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
            cluster.scheduler.after(A_LOOK, lambda: cluster.join([receiver]))


class PeersCutOff(Directed):
    """The sick node reaches some peers just while these have lost the API server for longer than K.

    They may say so, and it lives on: a manager counts them from the start when they are back.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
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
            # So long it takes until they have told of an acknowledgement.
            cluster.run(chance.uniform(10.0, 12.0))


class Liar(Directed):
    """One peer lies to the sick node, that there is no marker, or that it cannot reach the API server.

    With two that are really cut off the latter makes a majority that lets the node go on.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        liar, *lost = chance.sample(self.peers, 3)
        lie = chance.choice((Answer.API_OUT_OF_REACH, Answer.HEALTHY))
        cluster.nodes[liar].lies_as = lie
        cluster.counts[f"fault: a peer says {lie}"] += 1
        self.mark()
        if lie is Answer.HEALTHY:
            cluster.join([liar], SICK)
            cluster.run(WATCHED_FOR)
            return
        cluster.cut(lost)
        cluster.run(chance.uniform(16.0, 20.0))
        cluster.join((liar, *lost), SICK)
        cluster.run(WATCHED_FOR - 20.0)


class Unacknowledged(Directed):
    """Renewals of most peers are written, and they never hear of it: after K they deny their contact."""

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        deaf = set(chance.sample(self.peers, chance.choice((3, 4))))

        def answer(who: str, asked: Asked, well: bool) -> float | None:
            """Whoever reads its own Lease is answered: so it renews on the version that is there."""
            if who not in deaf or asked is Asked.OWN_READ or (asked is Asked.OWN_WRITE and not well):
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
    """Most nodes get certificates, and the sick one is told of more peers just when it is lost.

    Either both lists are published and it has not heard of that: it goes by the old one, whose members cannot
    reach the API server. Or it has heard of the new one and could not publish it: then it goes by the old
    one, too, and the members of the new one are those who are cut off.
    """

    nodes = 7

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        old = set(chance.sample(self.peers, 2))
        late = set(self.peers) - old
        cluster.around.uncertified |= late
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        published = chance.random() < 0.5
        lost = old if published else late
        cluster.counts["fault: two lists" if published else "fault: a list unpublished"] += 1
        cluster.invariants.on_proposed = partial(self._proposed, published, lost)
        cluster.around.uncertified.clear()
        cluster.run(45.0)
        cluster.complain(SICK)
        self.is_marked()
        cluster.run(WATCHED_FOR - 40.0)

    def _proposed(self, published: bool, lost: set[str], name: str) -> None:
        """It reads its Lease next, and then renews with both lists."""
        if name != SICK:
            return
        cluster, last = self.cluster, Asked.OWN_WRITE if published else Asked.OWN_READ

        def served(who: str, asked: Asked, well: bool) -> None:
            if who == SICK and asked is last and well:
                cluster.tell(f"{SICK} is lost while its peers change; so are {sorted(lost)}")
                cluster.cut((SICK, *sorted(lost)))

        def answer(who: str, asked: Asked, well: bool) -> float | None:
            lose = who == SICK and published and asked is Asked.OWN_WRITE and well
            return None if lose else 0.0

        cluster.store.served, cluster.store.answering = served, answer
