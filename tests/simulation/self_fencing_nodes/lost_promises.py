"""Directed seeds: a node that no longer promises to end lives on, and its Lease may not show that."""

from functools import partial
from typing import ClassVar, Final

from nodemend.api.resources import LEASE
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.self_fencing_nodes.api_store import SentRequest
from tests.simulation.self_fencing_nodes.directed import SICK, WATCHED_FOR, Directed

FOREVER: Final = 10_000.0
BUMPED: Final = 1_000_000


class StandsDown(Directed):
    """The agent is requested to stop, and the node is cut off at about that time.

    If it is cut off before the agent could publish the stop, its lease ends, and it is released by time. If
    the stop was published, acknowledged or not, the node is never released by time.
    """

    family: ClassVar[str] = "StandsDown"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        last = chance.choice((SentRequest.OWN_READ, SentRequest.OWN_WRITE))
        heard = chance.random() < 0.5
        cluster.counts[f"fault: lost after {last.name.lower()} of an agent that stops"] += 1
        cluster.store.served = partial(self._served, last)
        if not heard:
            cluster.store.answering = lambda who, asked, _well: (
                None if who == SICK and asked is SentRequest.OWN_WRITE else 0.0
            )
        self.sick.stop_agent(FOREVER)
        cluster.run(20.0)
        cluster.complain(SICK)
        self.has_revocation()
        cluster.run(WATCHED_FOR)
        if last is SentRequest.OWN_READ:
            self.released_in_time()

    def _served(self, last: SentRequest, who: str, asked: SentRequest, well: bool) -> None:
        if who == SICK and asked is last and well:
            self.cluster.isolate(SICK)


class Restored(Directed):
    """A restore of etcd loses the last report of a node that is unreachable.

    Its peers have noticed the change, and none of them confirms the report that its Lease has now.
    """

    family: ClassVar[str] = "Restored"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        backup = cluster.world.server.snapshot()
        if chance.random() < 0.5:
            cluster.counts["fault: restored after it stood down"] += 1
            self.sick.stop_agent(FOREVER)
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
    """The API server's cache of Leases is frozen from before the marker; the node's kubelet hangs.

    The agent is connected, or asks its peers. A read from that cache shows no marker, so neither may use one.
    """

    family: ClassVar[str] = "StaleCache"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        cluster.network.delays = (0.02, 0.05)
        self.settle()
        by_peers = chance.random() < 0.5
        cluster.counts["fault: a stale cache" + (", by peers" if by_peers else "")] += 1
        self.sick.machine.hung = True
        cluster.world.server.lag(LEASE, cluster.world.server.revision)
        if by_peers:
            cluster.invariants.on_marked = lambda name: cluster.cut([SICK]) if name == SICK else None
        cluster.complain(SICK)
        self.has_revocation()
        cluster.run(WATCHED_FOR)
