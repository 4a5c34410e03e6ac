"""Directed seeds: users change or delete the Leases of agents while managers and gates rely on them."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE
from simulation.cluster.machines import node_info, system_uuid
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.self_fencing_nodes.api_store import SentRequest
from tests.simulation.self_fencing_nodes.directed import SICK, WATCHED_FOR, Directed

STOPPED_FOR: Final = 30.0
"""Seconds for which Kubernetes' controllers are stopped: longer than a node takes to start."""
PAUSED_FOR: Final = (6.0, 9.0)
"""The same for a leader that leads on."""


class MarkerTakenOff(Directed):
    """A user takes the marker off by hand: while time is counted, or when it has just been proven.

    While time is counted, the node finds no marker at that moment and lives on; then it is cut off again.
    After the proof, the gate of the next boot may find no marker.
    """

    family: ClassVar[str] = "MarkerTakenOff"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        proven = chance.random() < 0.4
        cluster.counts["fault: marker taken off" + (" after the proof" if proven else "")] += 1
        if proven:
            cluster.invariants.on_evidence = lambda _name: self._take_off()
            cluster.invariants.on_released = lambda _name: cluster.network.cut.clear()
        self.mark()
        if not proven:
            cluster.run(chance.uniform(20.0, 30.0))
            cluster.store.served = self._served
            cluster.network.cut.clear()
            self._take_off()
        cluster.run(WATCHED_FOR)

    def _take_off(self) -> None:
        change = {"metadata": {"annotations": {well_known.MARKER: None}}}
        self.cluster.api.patch(LEASE, SICK, change, at=(well_known.AGENT_NAMESPACE, ""))

    def _served(self, who: str, asked: SentRequest, well: bool) -> None:
        if who == SICK and asked is not SentRequest.OTHER_READ and well:
            self.cluster.isolate(SICK)


class LeaseLost(Directed):
    """A user deletes the Lease of a node whose gate holds a new boot back: the gate finds none, and opens.

    The managers are stopped when the new boot is recorded as evidence, and the kubelet hangs as it starts. Or
    the node is released already, and its next kubelet reports another board.
    """

    family: ClassVar[str] = "LeaseLost"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        released = chance.random() < 0.4
        cluster.counts["fault: Lease lost" + (" after the release" if released else "")] += 1
        if released:
            cluster.invariants.on_released = lambda _name: self._start_on_another_board()
        else:
            cluster.invariants.on_evidence = lambda _name: self._start_unseen()
        self.hang()
        cluster.run(STOPPED_FOR + 60.0)
        node = cluster.api.get(NODE, SICK)
        if self.sick.runs and node is not None and cluster.invariants.is_tainted(SICK):
            raise InvariantBrokenError(f"I8: our taint stays on {SICK}, which has long served again")

    def _start_unseen(self) -> None:
        cluster = self.cluster
        self.sick.machine.hung = True
        for replica in cluster.remediators:
            replica.process.pause(self.chance.uniform(*PAUSED_FOR))
        self._delete()

    def _start_on_another_board(self) -> None:
        cluster = self.cluster
        self.sick.machine.system_uuid = system_uuid("another board")
        self.slow_controllers()
        cluster.scheduler.after(STOPPED_FOR, lambda: setattr(cluster.world.engine, "away", False))
        self._delete()

    def _delete(self) -> None:
        self.sick.unpublished = True
        self.cluster.api.delete(LEASE, SICK, well_known.AGENT_NAMESPACE)


class Copied(Directed):
    """A copy of the machine reports a new boot from elsewhere, while the marked boot runs on, cut off."""

    family: ClassVar[str] = "Copied"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        self.mark()
        cluster.run(chance.uniform(0.0, 20.0))
        copied = {**node_info(SICK, "a-boot-of-the-copy"), "systemUUID": system_uuid("a copy")}
        cluster.api.patch(NODE, SICK, {"status": {"nodeInfo": copied}}, at=("", "status"))
        cluster.run(30.0)
