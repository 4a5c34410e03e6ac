"""More that goes wrong in a seed of mixed faults, from a stream of chance of its own."""

from random import Random
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import SELF_REMEDIATION
from nodemend.decide.time_proof import USUALLY
from tests.simulation.shipped_fencing.cluster import Cluster
from tests.simulation.shipped_fencing.faults import BEGIN, LASTS, Faults

AWAY_AT_MOST: Final = 200.0
"""Seconds until a stopped agent is back."""


class MoreFaults(Faults):
    """Its plan is played beside that of `Faults`, which also ends what is begun here."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, Random(f"more faults {seed}"))

    def plan(self) -> None:
        chance, cluster = self._chance, self._cluster
        for replica in cluster.world.replicas:
            error = USUALLY.clock_error
            replica.clock.rate = 1 + chance.choice((-error, error, chance.uniform(-error, error)))
        kinds = (self._strand, self._strand, self._withdraw, self._outage, self._pause_node)
        chosen = chance.sample(kinds, chance.randint(1, 3))
        for _ in range(chance.randint(0, 8)):
            fault = chance.choice(chosen)
            when = BEGIN + chance.random() * LASTS
            cluster.scheduler.at(when, lambda fault=fault: self._begin(fault))  # type: ignore[misc]

    def _strand(self) -> None:
        """Its agent is stopped and may be long in coming back; around that nobody hears the node any more."""
        name, cluster, chance = self._some_node(), self._cluster, self._chance
        away = chance.choice((0.0, 5.0, AWAY_AT_MOST)) * chance.random()
        cluster.scheduler.after(5.0, lambda: cluster.nodes[name].stop_agent(away))

        def cut() -> None:
            if cluster.scheduler.now < BEGIN + LASTS:
                self._for_a_while(cluster.network.links_of(name, cluster.parties), longest=300.0)

        cluster.scheduler.after(chance.choice((5.0, 10.0, 40.0)) * chance.random(), cut)

    def _withdraw(self) -> None:
        """Somebody deletes remediations, at any phase, whether or not their nodes are still sick."""
        api = self._cluster.api
        for one in api.list(SELF_REMEDIATION):
            api.delete(SELF_REMEDIATION, one["metadata"]["name"], keys.SYSTEM_NAMESPACE)

    def _outage(self) -> None:
        """For all: nodes and managers. These may go on with what they had planned before."""
        cluster = self._cluster
        links = [replica.link for replica in cluster.world.replicas]
        cluster.store.down = True
        for link in links:
            link.cut()

        def end() -> None:
            cluster.store.down = False
            for link in links:
                link.heal()

        self._later(100.0, end)

    def _pause_node(self) -> None:
        """Agent and feeder stand still together, for any time; the watchdog does not."""
        node, chance = self._cluster.nodes[self._some_node()], self._chance
        seconds = chance.choice((0.5, 3.0, 9.0, 12.0, 30.0, 90.0)) * chance.uniform(0.5, 1.0)
        node.agent.freeze(seconds)
        node.feeder.freeze(seconds)
