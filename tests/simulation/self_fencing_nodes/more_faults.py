"""Further faults of a seed with mixed faults, from a separate random stream."""

from random import Random
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import SELF_REMEDIATION
from nodemend.safety.time_proof import DEFAULT_ASSUMPTIONS
from tests.simulation.self_fencing_nodes.cluster import Cluster
from tests.simulation.self_fencing_nodes.faults import BEGIN, LASTS, Faults

AWAY_AT_MOST: Final = 200.0
"""Longest time in seconds until a stopped agent returns."""


class MoreFaults(Faults):
    """Its plan runs beside that of `Faults`, which also ends the faults that start here."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, Random(f"more faults {seed}"))

    def plan(self) -> None:
        chance, cluster = self._chance, self._cluster
        for replica in cluster.world.replicas:
            error = DEFAULT_ASSUMPTIONS.clock_error
            replica.clock.rate = 1 + chance.choice((-error, error, chance.uniform(-error, error)))
        kinds = (self._strand, self._strand, self._withdraw, self._outage, self._pause_node)
        chosen = chance.sample(kinds, chance.randint(1, 3))
        for _ in range(chance.randint(0, 8)):
            fault = chance.choice(chosen)
            when = BEGIN + chance.random() * LASTS
            cluster.scheduler.at(when, lambda fault=fault: self._begin(fault))  # type: ignore[misc]

    def _strand(self) -> None:
        """Stop an agent, which may return late, and isolate its node at about that time."""
        name, cluster, chance = self._some_node(), self._cluster, self._chance
        away = chance.choice((0.0, 5.0, AWAY_AT_MOST)) * chance.random()
        cluster.scheduler.after(5.0, lambda: cluster.nodes[name].stop_agent(away))

        def cut() -> None:
            if cluster.scheduler.now < BEGIN + LASTS:
                self._for_a_while(cluster.network.links_of(name, cluster.parties), longest=300.0)

        cluster.scheduler.after(chance.choice((5.0, 10.0, 40.0)) * chance.random(), cut)

    def _withdraw(self) -> None:
        """Delete remediations in any phase, as a user may, even if their nodes are still unhealthy."""
        api = self._cluster.api
        for one in api.list(SELF_REMEDIATION):
            api.delete(SELF_REMEDIATION, one["metadata"]["name"], well_known.SYSTEM_NAMESPACE)

    def _outage(self) -> None:
        """Make the API server unreachable for nodes and managers. Managers may continue planned work."""
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
        """Pause agent and feeder together for any time; the watchdog continues."""
        node, chance = self._cluster.nodes[self._some_node()], self._chance
        seconds = chance.choice((0.5, 3.0, 9.0, 12.0, 30.0, 90.0)) * chance.uniform(0.5, 1.0)
        node.agent.freeze(seconds)
        node.feeder.freeze(seconds)
