"""Directed seeds: each plays the worst course that the rules allow for one danger of a release by time."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from nodemend.decide.time_proof import USUALLY
from nodemend.testing.cluster.replicas import Replica
from tests.simulation.settling import InvariantBrokenError
from tests.simulation.shipped_fencing.api_store import Asked
from tests.simulation.shipped_fencing.cluster import QUICK, Cluster
from tests.simulation.shipped_fencing.fenced_node import FencedNode

SICK: Final = "node-1"
SETTLED: Final = 100.0
"""Seconds by which every node has booted, has its agent, and its peers."""
TIGHTEST: Final = 0.26
"""Seconds of ride-through with which the safe time is hardly rounded up."""
A_RENEWAL: Final = 2.9
"""Seconds by which the reply to a renewal is late, just within its deadline of 3."""
RENEWS_WITHIN: Final = 7.0
"""An agent renews every 5 s: who is paused for so long has a renewal due."""
WATCHED_FOR: Final = 130.0
"""After the marker. The safe time is 72 s."""
RELEASED_WITHIN: Final = 80.0


class Directed:
    """One seed of one family: `play` runs it to its end."""

    nodes = 5

    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        self.chance = Random(f"directed {seed}")
        name = f"{type(self).__name__} {seed}"
        self.cluster = Cluster(
            name,
            nodes=self.nodes,
            quality=QUICK,
            slowest=True,
            ride_through=self.chance.choice((0.0, TIGHTEST)),
            keep_trace=keep_trace,
        )
        self.cluster.network.delays = QUICK.delay
        self.cluster.set_clocks(1 + USUALLY.clock_error)

        for name in self.peers:
            self.cluster.nodes[name].kubelet_apart = True

    @property
    def peers(self) -> list[str]:
        return [name for name in self.cluster.nodes if name != SICK]

    @property
    def sick(self) -> FencedNode:
        return self.cluster.nodes[SICK]

    def play(self) -> None:
        raise NotImplementedError

    def mark(self) -> None:
        """It is called sick, and nobody hears it any more when its marker has been written."""
        cluster = self.cluster
        cluster.invariants.on_marked = lambda name: cluster.isolate(SICK) if name == SICK else None
        cluster.complain(SICK)
        self.is_marked()

    def is_marked(self) -> None:
        """Play on until its marker is written."""
        cluster, boot = self.cluster, self.sick.boot_id
        by = cluster.scheduler.now + 100.0
        while boot not in cluster.invariants.marked_at:
            cluster.run(0.05)
            if cluster.scheduler.now > by:
                raise InvariantBrokenError(f"I13: {SICK} was never marked")

    def released_in_time(self) -> None:
        waits = self.cluster.invariants.waits
        if not waits or waits[0] > RELEASED_WITHIN:
            raise InvariantBrokenError(f"I13: {SICK} is not released within {RELEASED_WITHIN:.0f} s: {waits}")


class LongestLife(Directed):
    """The sick node lives as long as can be, and the manager counts as fast as it may.

    Its agent sends a clean look at the last moment before its marker is written; the reply comes at the end
    of its deadline. From the marker on nobody hears it. Its feeder checks, pings and dies at the last moment.
    In some seeds leaders are paused, killed or cut off while they count.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        cluster.line.thaw(self.sick.agent)
        self.sick.agent.freeze(1000.0)
        cluster.invariants.on_begun = self._begun
        cluster.invariants.on_marked = self._marked
        cluster.run(RENEWS_WITHIN)
        cluster.complain(SICK)
        self.is_marked()
        if undisturbed := chance.random() < 0.5:
            cluster.run(WATCHED_FOR)
        else:
            self._disturb()
        if undisturbed:
            self.released_in_time()

    def _begun(self, name: str) -> None:
        if name == SICK:
            late = self.chance.choice((0.0, A_RENEWAL, A_RENEWAL))
            self.cluster.store.answering = lambda who, _asked, _well: late if who == SICK else 0.0
            self.cluster.line.thaw(self.sick.agent)

    def _marked(self, name: str) -> None:
        if name == SICK:
            self.cluster.isolate(SICK)
            self.sick.lives_longest = True

    def _disturb(self) -> None:
        """Leaders come and go while they count."""
        cluster, chance = self.cluster, self.chance
        ends = cluster.scheduler.now + WATCHED_FOR + 40.0
        while cluster.scheduler.now < ends and not cluster.invariants.waits:
            cluster.run(chance.uniform(8.0, 45.0))
            replica = chance.choice(cluster.remediators)
            fault = chance.choice((self._pause, self._kill, self._cut))
            cluster.counts[f"fault: leader {fault.__name__.strip('_')}"] += 1
            fault(replica)

    def _pause(self, replica: Replica) -> None:
        replica.process.pause(self.chance.choice((1.0, 8.0, 14.0, 20.0, 40.0)))

    def _kill(self, replica: Replica) -> None:
        replica.process.crash()

    def _cut(self, replica: Replica) -> None:
        link = replica.link
        link.cut(up=self.chance.random() < 0.7, down=self.chance.random() < 0.7)
        self.cluster.scheduler.after(self.chance.uniform(1.0, 40.0), link.heal)


class PeersCutOff(Directed):
    """The sick node reaches some peers just while these have lost the API server.

    For less than K they must not deny their contact; whoever lost it for longer is counted from the start.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        self.mark()
        short = chance.random() < 0.6
        ends = cluster.scheduler.now + WATCHED_FOR
        while cluster.scheduler.now < ends:
            cluster.run(chance.uniform(6.0, 14.0))
            lost = chance.sample(self.peers, chance.choice((3, 4, 4)))
            cluster.counts[f"fault: {len(lost)} peers cut off"] += 1
            cluster.cut(lost)
            cluster.join(lost, SICK)
            cluster.run(chance.uniform(7.0, 10.0) if short else chance.uniform(18.0, 30.0))
            cluster.cut(lost, SICK)
            cluster.join(lost)


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


FAMILIES: Final[tuple[Callable[..., Directed], ...]] = (
    LongestLife,
    LongestLife,
    PeersCutOff,
    Unacknowledged,
    PeersChange,
)
