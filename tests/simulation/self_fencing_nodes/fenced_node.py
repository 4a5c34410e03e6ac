"""A node of the simulated cluster: real agent, feeder and boot gate beside a kubelet that runs pods.

An adversary can make it live as long as the rules permit: see LastMomentFeeder.
"""

from functools import partial
from random import Random
from typing import Final

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.records import PUBLISHED
from nodemend.api.resources import NODE
from nodemend.cmd.agent import HEALTHY_WANTED
from nodemend.protocol.peers import PeerReply
from nodemend.safety.time_proof import DEFAULT_ASSUMPTIONS
from simulation.cluster.direct import Direct
from simulation.cluster.machines import Machine
from tests.simulation.self_fencing.feeder_process import WATCHDOG, FeederProcess
from tests.simulation.self_fencing.fencing_cluster import BrokenError, FencingCluster
from tests.simulation.self_fencing.network import API
from tests.simulation.self_fencing.node import Node
from tests.simulation.walking_path.invariants import is_ours

_S: Final = 1_000_000_000
NO_NODE: Final = "none"
NODE_AWAITED_EVERY: Final = 5.0
MOMENT: Final = 0.005
"""Seconds between an action of the adversary and the limit for it."""


class LastMomentFeeder(FeederProcess):
    """Delays every check, ping and exit to the last moment, if its node must live as long as possible.

    The last ping but one happens just before the lease ends. The check after it permits one more ping, which
    happens just before the device would reset the machine. Then the feeder dies just before that time comes
    again, and the kernel pings when it closes the device.
    """

    _saw_marker_at: int | None = None
    """Time at which its own API check found the marker of its boot."""

    def _touch(self, command: w.Open | w.SetTimeout | w.Ping) -> None:
        if self._saw_marker_at is not None and self._checked_at > self._saw_marker_at:
            raise BrokenError(f"I10: {self._node.name} is fed after its feeder saw the marker")
        super()._touch(command)

    def _be_late(self) -> None:
        node = self._node
        node.world.counts["lease looked at before a ping"] += 1
        unleased = node.permitted or node.gate_status == PUBLISHED
        if not unleased and self._checked_at >= self._machine.status.lease.until:
            raise BrokenError(f"I10: {node.name} is fed after its lease has ended")
        if not isinstance(node, FencedNode) or not node.lives_longest:
            super()._be_late()
            return
        ends = node.clock.true(self.fed_until)
        now, left = node.world.line.now, node.watchdog.left()
        if not left or now >= ends:
            return
        if ends - now < 2 * MOMENT:
            self.freeze(left - MOMENT)
            node.world.counts["last ping at the last moment"] += 1
            node.world.line.after(left + node.watchdog_lasts - 2 * MOMENT, self._end_late)
        elif self._is_last_but_one(ends - now):
            self.freeze(ends - now - MOMENT)

    def _perform(self, command: w.FeederCommand) -> None:
        """Ignore a reboot request to the kernel: it may fail, so it proves nothing."""
        node = self._node
        if isinstance(command, w.Exit):
            self.die()
        if isinstance(command, w.Disarm):
            node.watchdog.disarm()
            self._open = False
            self._hear(w.Disarmed(proven=True))
        if isinstance(command, w.WriteStatus) and isinstance(command.status.state, w.StoppedForFence):
            self._ends_boot()
        if isinstance(command, w.TryReboot) and isinstance(node, FencedNode) and node.lives_longest:
            return
        super()._perform(command)

    def stop(self) -> None:
        """Request it to stop, as systemd does."""
        self.do(lambda: self._hear(w.FeederStopRequested(self._files())))

    def _ends_boot(self) -> None:
        """Check I9: only a boot that was marked is ended."""
        if self._node.boot_id not in self._node.world.marked_boots:
            raise BrokenError(f"I9: {self._node.boot_id} is ended by its feeder, and was never marked")

    def _hear_answer(self, answer: w.Answered) -> None:
        if isinstance(answer.answer, w.Marked) and self._saw_marker_at is None:
            self._saw_marker_at = self._now()
        super()._hear_answer(answer)

    @property
    def fed_until(self) -> float:
        """End of its lease by its node's clock."""
        return self._machine.status.lease.until / _S

    def _is_last_but_one(self, left: float) -> bool:
        """True if exactly one more ping is due before the lease ends."""
        every = 3.0 / self._node.clock.rate
        return every + 2 * MOMENT < left <= 2 * every + 2 * MOMENT


class FencedNode(Node):
    """A node whose power, kubelet and pods belong to `machine`. It simulates what ends them."""

    def __init__(
        self, machine: Machine, world: FencingCluster, api: Direct, chance: Random, *, slowest: bool = False
    ) -> None:
        """With `slowest`, its clock, its watchdog and its resets are as slow as permitted."""
        self.machine = machine
        self._api = api
        self.lives_longest = False
        """True until its next boot."""
        self.slowest = slowest
        self.lies_as: PeerReply | None = None
        """Its answer to every peer, regardless of the facts."""
        self.kubelet_apart = False
        """True if its kubelet reaches the API server although its agent does not."""
        self.unpublished = False
        """True once a user has deleted its Lease: then its gate opens, as for a node that never reported."""
        self.watchdog_lasts = 0.0
        self.ended_at = 0.0
        self.writes_land_until = 0.0
        """Time by which all writes to storage of its last boot with an open gate have landed."""
        self._ending = ""
        super().__init__(machine.name, world, chance, byzantine_peer=False)
        self.stubborn = False

    # Clock, watchdog and feeder.

    @property
    def uid(self) -> str:
        node = self._api.get(NODE, self.name)
        return str(node["metadata"]["uid"]) if node is not None else NO_NODE

    def draw_rate(self) -> float:
        return 1 - self.world.clock_error if self.slowest else super().draw_rate()

    def draw_watchdog(self) -> float:
        worst = WATCHDOG / (1 - self.world.watchdog_error)
        self.watchdog_lasts = worst if self.slowest else super().draw_watchdog()
        return self.watchdog_lasts

    def make_feeder(self) -> FeederProcess:
        return LastMomentFeeder(self)

    # Boots.

    def boot(self) -> None:
        if not self.machine.powered:
            self.machine.power_on()
        self.lives_longest = False
        self.machine.gated = True
        super().boot()
        if self.boot_id != self.machine.boot_id:
            raise RuntimeError(f"{self.boot_id} is not {self.machine.boot_id}")

    @property
    def is_guarded(self) -> bool:
        """Also true after its watchdog ran out and before the reset is complete: the boot is about to end."""
        return super().is_guarded or self._ending == self.boot_id

    def open_gate(self) -> None:
        """Check I1: the node starts no pods that are removed by force."""
        node = self._api.get(NODE, self.name)
        if node is not None and any(map(is_ours, node["spec"].get("taints", ()))) and not self.unpublished:
            raise BrokenError(f"I1: the gate of {self.name} opens under our taint")
        super().open_gate()
        self.machine.gated = False

    def _start_agent(self, boot: str) -> None:
        """Start the agent, which is a pod of its Node: without a Node it waits."""
        if self.uid == NO_NODE:
            self.world.line.after(NODE_AWAITED_EVERY, lambda: self._start_agent(boot))
        else:
            super()._start_agent(boot)

    def follow_node(self) -> None:
        """Restart the agent if the Node in its token is not the one for which it reports.

        Here the kubelet renews a token immediately; in reality that takes up to the hour for which a token is
        valid.
        """
        if self.agent.alive and self.uid not in (NO_NODE, self.agent.node_uid):
            self.world.counts["agent ended for a Node registered again"] += 1
            self.restart_agent(self.chance.uniform(1.0, 11.0))

    def reset(self, why: str) -> None:
        """Reset the machine. Its processes run until the reset is complete; their writes land later still."""
        if not self.up or self._ending == self.boot_id:
            return
        self._ending = self.boot_id
        takes = DEFAULT_ASSUMPTIONS.reset_takes
        self.world.line.after(
            takes if self.slowest else self.chance.uniform(0.0, takes), partial(self._end, self.boot_id, why)
        )

    def _end(self, boot_id: str, why: str) -> None:
        if self.boot_id != boot_id:
            return
        now, drain = self.world.line.now, DEFAULT_ASSUMPTIONS.drain
        self.ended_at = now
        lands = now + (drain if self.slowest else self.chance.uniform(0.0, drain))
        if self.gate_open:  # Behind a closed gate no pod runs, and nothing is written.
            self.writes_land_until = lands
        super().reset(why)
        self.machine.power_off()

    @property
    def healthy_wanted(self) -> int:
        return HEALTHY_WANTED

    def lie(self) -> PeerReply | None:
        return self.lies_as or super().lie()

    @property
    def lease_left(self) -> float:
        """Seconds by its own clock for which its feeder continues."""
        feeder = self.feeder
        return feeder.fed_until - self.clock.now() if isinstance(feeder, LastMomentFeeder) else 0.0

    @property
    def runs(self) -> bool:
        """True if pods run on it, or can start at any moment."""
        return self.up and self.gate_open

    def connect(self) -> None:
        """Connect the kubelet to the API server if the agent is connected."""
        cut = bool({(self.name, API), (API, self.name)} & self.world.network.cut)
        self.machine.connected = self.kubelet_apart or not (cut or self.world.store.down)
