"""Directed seeds: feeders and gates that are stopped, misled or overridden on a node that must end."""

from typing import ClassVar, Final

from tests.simulation.self_fencing_nodes.api_store import SentRequest
from tests.simulation.self_fencing_nodes.directed import (
    RELEASED_WITHIN,
    SICK,
    WATCHED_FOR,
    Directed,
    LongestLife,
)
from tests.simulation.self_fencing_nodes.fenced_node import LastMomentFeeder

CHECKED_WITHIN: Final = 3.5
"""Seconds from the time at which a feeder's own API check is due."""


class LongerFeeder(LongestLife):
    """The feeder accepts longer leases than its agent gives it, and the agent is dead.

    So the node lives longer after the feeder's own API check than the agent would let it.
    """

    family: ClassVar[str] = "LongerFeeder"

    feeds_longer = 15.0

    def play(self) -> None:
        cluster = self.cluster
        self.settle()
        cluster.invariants.on_marked = self._marked
        self._by_feeder()
        self.has_revocation()
        cluster.run(WATCHED_FOR)


class StaleRenewal(Directed):
    """The feeder sees the marker first, and its attempt to reboot fails.

    The agent was paused before it read the acknowledgement of its last renewal. It reads that now, is cut
    off, and extends the lease of a feeder that must never feed again.
    """

    family: ClassVar[str] = "StaleRenewal"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        self._paused = False
        cluster.store.served = self._served
        self.waits_for(lambda: self._paused)
        cluster.run(chance.uniform(0.0, 2.0))
        cluster.invariants.on_marked = lambda name: setattr(self.sick, "lives_longest", name == SICK)
        cluster.complain(SICK)
        self.has_revocation()
        self.waits_for(lambda: self.sick.status.get("state") == "condemned", 40.0)
        cluster.isolate(SICK)
        cluster.run(WATCHED_FOR - RELEASED_WITHIN)

    def _served(self, who: str, asked: SentRequest, well: bool) -> None:
        """Pause the agent until the feeder, which checks when half of its lease is over, has done so."""
        if who == SICK and asked is SentRequest.OWN_WRITE and well and not self._paused:
            self._paused, sick = True, self.sick
            sick.agent.freeze(sick.lease_left - sick.world.lease_length / 2 + CHECKED_WITHIN)


class FeederStopped(Directed):
    """A person stops the feeder of a marked node that is cut off: the watchdog must still reset the node."""

    family: ClassVar[str] = "FeederStopped"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        self.mark()
        cluster.run(chance.uniform(0.0, 20.0))
        feeder = self.sick.feeder
        if isinstance(feeder, LastMomentFeeder):
            feeder.stop()
        cluster.run(WATCHED_FOR)


class GateOverridden(Directed):
    """A person lets a gate open without an API check, after it has answered the marker: pods are released."""

    family: ClassVar[str] = "GateOverridden"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        cluster.invariants.on_released = lambda _name: self._override()
        self.hang()
        cluster.run(60.0 + chance.uniform(0.0, 10.0))

    def _override(self) -> None:
        self.slow_controllers()
        self.cluster.isolate(SICK)
        self.sick.person_opens = True
