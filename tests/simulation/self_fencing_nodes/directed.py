"""Directed seeds: each runs the worst course that the rules permit for one danger of a release by time."""

from collections.abc import Callable
from random import Random
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import SELF_REMEDIATION
from nodemend.safety.time_proof import DEFAULT_ASSUMPTIONS
from simulation.cluster.replicas import Replica
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.self_fencing.time_line import Process
from tests.simulation.self_fencing_nodes.api_store import Answering, SentRequest
from tests.simulation.self_fencing_nodes.cluster import QUICK, Cluster
from tests.simulation.self_fencing_nodes.fenced_node import FencedNode

SICK: Final = "node-1"
SETTLED: Final = 100.0
"""Seconds until every node has booted and has its agent and its peers."""
TIGHTEST: Final = 0.26
"""Seconds of ride-through for which the safe time is hardly rounded up."""
COUNTED_AFTER: Final = 0.08
"""Longest time in seconds from a marker to the first count of the manager that wrote it."""
A_RENEWAL: Final = 2.9
"""Delay in seconds of the reply to a renewal, just within its deadline of 3."""
A_PARALLEL_READ: Final = 11.5
"""The same for an API check beside renewals, whose deadline is 12."""
RENEWS_WITHIN: Final = 7.0
"""Seconds. An agent renews every 5 s, so an agent that is paused for this time has a renewal due."""
WATCHED_FOR: Final = 130.0
"""Seconds after the marker. The safe time is 72 s."""
RELEASED_WITHIN: Final = 80.0


class Quick(Random):
    """Random numbers with which a node returns after the shortest time: before its agent counts as silent."""

    def random(self) -> float:
        return 0.9

    def uniform(self, a: float, b: float) -> float:
        return min(a, b)


class Directed:
    """One seed of one family. `play` runs it to its end."""

    family: ClassVar[str]
    """A constant: streams of chance are named by it."""

    nodes = 5
    feeds_longer = 0.0
    """Seconds by which feeders accept longer leases than agents give them."""

    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        self.chance = Random(f"directed {seed}")
        name = f"{self.family} {seed}"
        self.cluster = Cluster(
            name,
            nodes=self.nodes,
            quality=QUICK,
            slowest=True,
            ride_through=self.chance.choice((0.0, TIGHTEST, self.chance.random())),
            feeds_longer=self.feeds_longer,
            keep_trace=keep_trace,
        )
        self.cluster.network.delays = QUICK.delay
        self.cluster.set_clocks(1 + DEFAULT_ASSUMPTIONS.clock_error)

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

    def settle(self) -> None:
        """Run until every node has booted and has its agent and its peers, up to a random moment."""
        self.cluster.run(SETTLED + self.chance.uniform(0.0, 20.0))

    def soon(self, seconds: float, what: Callable[[], None]) -> None:
        self.cluster.scheduler.after(seconds, what)

    def waits_for(self, holds: Callable[[], bool], within: float = 120.0) -> bool:
        """Run until this holds; return False if it does not `within` this time."""
        cluster = self.cluster
        by = cluster.scheduler.now + within
        while not holds() and cluster.scheduler.now < by:
            cluster.run(1.0)
        return holds()

    def mark(self) -> None:
        """Declare the node unhealthy, and isolate it when its marker has been written."""
        cluster = self.cluster
        cluster.invariants.on_marked = lambda name: cluster.isolate(SICK) if name == SICK else None
        cluster.complain(SICK)
        self.has_revocation()

    def hang(self) -> None:
        """Let the kubelet hang until its Node is not Ready, so that a new boot is released behind its gate.

        Its agent stays connected, and ends the boot at once.
        """
        self.sick.chance = Quick()
        self.sick.machine.hung = True
        self.has_revocation()

    def slow_controllers(self) -> None:
        """Stop Kubernetes' own controllers: no pod is removed, and no volume detached."""
        self.cluster.world.engine.away = True

    def has_revocation(self) -> None:
        """Run until its marker is written."""
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
    """The node lives as long as possible, and the manager counts as fast as permitted.

    A clean API check is sent at the last moment before the marker is written: a renewal by the agent, a check
    beside renewals that fail, or a check by the feeder of a dead agent. The reply arrives at the end of its
    deadline. From the marker on, the node is isolated. Its feeder checks, pings and dies at the last moment.
    In some seeds leaders are paused, killed or cut off while they count.
    """

    family: ClassVar[str] = "LongestLife"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        cluster.invariants.on_marked = self._marked
        way = chance.choice((self._by_renewal, self._by_renewal, self._by_read, self._by_feeder))
        cluster.counts[f"last look {way.__name__.strip('_').replace('_', ' ')}"] += 1
        way()
        self.has_revocation()
        if chance.random() < 0.6:
            self._read_at_once()
            cluster.run(WATCHED_FOR - RELEASED_WITHIN)
            self.released_in_time()
        else:
            self._disturb()

    def _by_renewal(self) -> None:
        """Let a renewal be due; the agent resumes when the marker is written next."""
        cluster, agent = self.cluster, self.sick.agent
        agent.freeze(1000.0)
        cluster.run(RENEWS_WITHIN)
        self._late_from_its_beginning(A_RENEWAL, agent)
        cluster.complain(SICK)

    def _by_read(self) -> None:
        """Lose acknowledgements of renewals: after the first, the agent repeats API checks beside them."""
        cluster = self.cluster
        cluster.store.answering = answer_reads(0.0)
        cluster.run(RENEWS_WITHIN + self.chance.uniform(1.0, 3.0))
        cluster.invariants.on_begun = lambda _name: setattr(
            cluster.store, "answering", answer_reads(A_PARALLEL_READ)
        )
        cluster.complain(SICK)

    def _by_feeder(self) -> None:
        """Kill the agent: the feeder does its own API check when half of its lease is over."""
        cluster, sick = self.cluster, self.sick
        sick.restart_agent(10_000.0)
        cluster.run(self.chance.uniform(25.0, 40.0))
        while not 0.0 < sick.lease_left - sick.world.lease_length / 2 < 1.0:
            cluster.run(0.1)
        sick.feeder.freeze(6.0)
        self._late_from_its_beginning(A_RENEWAL, self.sick.feeder)
        cluster.complain(SICK)

    def _late_from_its_beginning(self, late: float, process: Process) -> None:
        """Resume the paused process when the remediation begins, and from then on delay the replies."""
        cluster, late = self.cluster, self.chance.choice((0.0, late, late, late))

        def begun(name: str) -> None:
            if name == SICK:
                cluster.store.answering = lambda who, _asked, _well: late if who == SICK else 0.0
                cluster.line.thaw(process)

        cluster.invariants.on_begun = begun

    def _marked(self, name: str) -> None:
        if name == SICK:
            self.cluster.isolate(SICK)
            self.sick.lives_longest = True

    def _read_at_once(self) -> None:
        """Make managers check just after the time is proven: pause them for less than their 2 s interval."""
        cluster = self.cluster
        marked = cluster.scheduler.now
        cluster.run(50.0)
        found = cluster.api.get(SELF_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)
        needed = found["status"].get("safeTimeSeconds", 0) if found else 0
        proven = marked + needed / (1 + DEFAULT_ASSUMPTIONS.clock_error) + COUNTED_AFTER
        pause = self.chance.uniform(1.9, 2.0)
        cluster.world.run(max(cluster.scheduler.now, proven - pause))
        for replica in cluster.remediators:
            replica.process.pause(max(0.0, proven - cluster.scheduler.now))
        cluster.world.run(marked + RELEASED_WITHIN)

    def _disturb(self) -> None:
        """Disturb leaders while they count."""
        cluster, chance = self.cluster, self.chance
        ends = cluster.scheduler.now + WATCHED_FOR + 40.0
        if chance.random() < 0.5:
            # Early, because a new leader must itself observe that the kubelet is silent.
            cluster.run(chance.uniform(0.5, 3.0))
            cluster.counts["fault: leader killed as it began to count"] += 1
            cluster.leader.process.crash()
        while cluster.scheduler.now < ends and not cluster.invariants.waits:
            cluster.run(chance.uniform(8.0, 45.0))
            replica = cluster.leader if chance.random() < 0.8 else chance.choice(cluster.remediators)
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


def answer_reads(late: float) -> Answering:
    """Return the reply delays of the unhealthy node: its writes are applied, but their replies are lost."""

    def answer(who: str, asked: SentRequest, _well: bool) -> float | None:
        if who != SICK:
            return 0.0
        return None if asked is SentRequest.OWN_WRITE else late

    return answer
