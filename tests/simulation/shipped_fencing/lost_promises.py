"""Directed seeds: a node that promises nothing any more lives on, and its Lease may not say so."""

from functools import partial
from typing import Final

from nodemend.api.group_versions import LEASE
from tests.simulation.settling import InvariantBrokenError
from tests.simulation.shipped_fencing.api_store import Asked
from tests.simulation.shipped_fencing.directed import SETTLED, SICK, WATCHED_FOR, Directed

FOR_GOOD: Final = 10_000.0
BUMPED: Final = 1_000_000


class StandsDown(Directed):
    """Its agent is told to stop, and the node is lost around that.

    Where it was lost before the agent could publish that, its lease ends, and it is released by time. Where
    that was published, heard or not, nothing is ever released by time.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        last = chance.choice((Asked.OWN_READ, Asked.OWN_WRITE))
        heard = chance.random() < 0.5
        cluster.counts[f"fault: lost after {last.name.lower()} of an agent that stops"] += 1
        cluster.store.served = partial(self._served, last)
        if not heard:
            cluster.store.answering = lambda who, asked, _well: (
                None if who == SICK and asked is Asked.OWN_WRITE else 0.0
            )
        self.sick.stop_agent(FOR_GOOD)
        cluster.run(20.0)
        cluster.complain(SICK)
        self.is_marked()
        cluster.run(WATCHED_FOR)
        if last is Asked.OWN_READ:
            self.released_in_time()

    def _served(self, last: Asked, who: str, asked: Asked, well: bool) -> None:
        if who == SICK and asked is last and well:
            self.cluster.isolate(SICK)


class Restored(Directed):
    """What a node published last is lost with a restore of etcd, and the node cannot be asked.

    Its peers have noticed that, and none of them vouches for what stands on its Lease.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        backup = cluster.world.server.snapshot()
        if chance.random() < 0.5:
            cluster.counts["fault: restored after it stood down"] += 1
            self.sick.stop_agent(FOR_GOOD)
            cluster.run(20.0)
        else:
            cluster.counts["fault: restored after it gave its peers up"] += 1
            cluster.around.uncertified.add(SICK)
            cluster.run(50.0)
        cluster.isolate(SICK)
        cluster.run(chance.uniform(5.0, 60.0))
        cluster.tell("etcd is restored")
        cluster.world.server.restore(backup, bump=chance.choice((0, BUMPED)))
        cluster.run(chance.uniform(0.0, 20.0))
        cluster.complain(SICK)
        cluster.run(WATCHED_FOR + 40.0)
        if not self.sick.up:
            raise InvariantBrokenError(f"I9: {SICK} ended, though it promised nothing")


class StaleCache(Directed):
    """The API server's cache of Leases stands still from before the marker; the node's kubelet hangs.

    Its agent is in touch, or asks its peers: whoever reads from that cache sees no marker, and none may.
    """

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.network.delays = (0.02, 0.05)
        cluster.run(SETTLED + chance.uniform(0.0, 20.0))
        by_peers = chance.random() < 0.5
        cluster.counts["fault: a stale cache" + (", by peers" if by_peers else "")] += 1
        self.sick.machine.hung = True
        cluster.world.server.lag(LEASE, cluster.world.server.revision)
        if by_peers:
            cluster.invariants.on_marked = lambda name: cluster.cut([SICK]) if name == SICK else None
        cluster.complain(SICK)
        self.is_marked()
        cluster.run(WATCHED_FOR)
