"""A node: a simulated watchdog, and the real feeder, boot gate and agent."""

from random import Random

from nodemend.agent.state import AgentIdentity, AgentState
from nodemend.agent.watchdog.model import FeederStatus, format_status, parse_status
from nodemend.agent.watchdog.records import CLOSED, NoRecord
from nodemend.api.agent import WatchdogReport
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.peers import PeerReply
from tests.simulation.self_fencing.agent_process import AgentProcess
from tests.simulation.self_fencing.feeder_process import WATCHDOG, FeederProcess
from tests.simulation.self_fencing.fencing_cluster import BrokenError, FencingCluster
from tests.simulation.self_fencing.gate_process import GateProcess
from tests.simulation.self_fencing.node_certificate import Papers
from tests.simulation.self_fencing.time_line import Clock

STOPPED_WITHIN = 15.0
"""Seconds that the kubelet gives an agent to stop."""
_WATCHDOG = WatchdogReport(class_="hardware", written=float(WATCHDOG), effective=float(WATCHDOG))


class Watchdog:
    """A device that resets its machine. Opening, configuring and closing it count as pings."""

    def __init__(self, node: "Node", seconds: float) -> None:
        self._node = node
        self._seconds = seconds
        self._ends: float | None = None
        self._boot = node.boot_id

    def ping(self) -> None:
        line = self._node.world.line
        fresh = self._ends is None
        self._ends = line.now + self._seconds
        if fresh:
            line.at(self._ends, self._check)

    def disarm(self) -> None:
        self._ends = None

    def left(self) -> float:
        """Return the seconds until the reset; 0 if the watchdog does not run."""
        return 0.0 if self._ends is None else max(0.0, self._ends - self._node.world.line.now)

    def _check(self) -> None:
        if self._ends is None or self._node.boot_id != self._boot:
            return
        if self._node.world.line.now < self._ends:
            self._node.world.line.at(self._ends, self._check)
        else:
            self._node.reset("its watchdog ran out")


class Node:
    def __init__(self, name: str, world: FencingCluster, chance: Random, byzantine_peer: bool) -> None:
        self.name = name
        self.world = world
        self.chance = chance
        self.byzantine_peer = byzantine_peer
        self.stubborn = chance.random() < 0.5
        """True if it lives as long as allowed: late pings, and a death that causes one more."""
        self.papers = Papers.of_some_age(chance)
        self.wall_error = 0.0
        """Error of its wall clock in seconds."""
        self.person_opens = False
        """True if a person has asked its gates to open."""
        self.boots = 0
        self.boot_id = ""
        self.up = False
        self.gate_open = False
        self._agent_is_back_after = 0.0
        self.boot()

    # Boots.

    def boot(self) -> None:
        world = self.world
        self.boots += 1
        self.boot_id = f"{self.name}-boot-{self.boots}"
        self.clock = Clock(world.line, self.draw_rate(), world.line.now)
        self.watchdog = Watchdog(self, self.draw_watchdog())
        self.up, self.gate_open = True, False
        self.lease_file: FeedLease | NoRecord = NoRecord()
        self.permitted = False
        """True if an agent left its permit to run unattended."""
        self.gate_status = CLOSED
        """The gate's state in its file for the feeder."""
        self.memory: AgentState | None = None
        self.fence_requested_at = 0.0
        self._status: dict[str, str] | None = {}
        self.feeder = self.make_feeder()
        self.gate = GateProcess(self)
        # The agent is a pod: it does not exist before the kubelet runs.
        self.agent = AgentProcess(self)
        self.agent.alive = False

    def draw_rate(self) -> float:
        """Return the clock rate of the next boot."""
        return 1 + self.chance.uniform(-1, 1) * self.world.clock_error

    def draw_watchdog(self) -> float:
        """Return the true seconds from a ping to the reset in the next boot."""
        worst = WATCHDOG / (1 - self.world.watchdog_error)
        return self.chance.choice([worst, self.chance.uniform(0.9 * WATCHDOG, worst)])

    def make_feeder(self) -> FeederProcess:
        return FeederProcess(self)

    @property
    def healthy_wanted(self) -> int:
        """Number of peers that must have observed no marker."""
        return 1 + self.world.byzantine_peers

    @property
    def uid(self) -> str:
        """UID of its Node."""
        return self.name

    @property
    def wall(self) -> float:
        return self.world.line.now + self.wall_error

    @property
    def who(self) -> AgentIdentity:
        who = AgentIdentity(
            node_uid=self.uid,
            boot_id=self.boot_id,
            watchdog=_WATCHDOG,
            address=f"{self.name}:9771",
            boot_gate=True,
            longest_lease=self.world.lease_length,
            ride_through=self.world.ride_through,
        )
        return who.stopped_gracefully() if self.permitted else who

    def tell(self, status: FeederStatus) -> None:
        """Store the feeder's status."""
        self._reported, self._status = status, None

    @property
    def status(self) -> dict[str, str]:
        """The feeder's status file, formatted and parsed on demand."""
        if self._status is None:
            self._status = parse_status(format_status(self._reported, self.boot_id, []))
        return self._status

    def reset(self, why: str) -> None:
        """Power off immediately, and boot after a while."""
        if not self.up:
            return
        self.world.tell(f"{self.name} resets: {why}")
        self.world.counts["reset"] += 1
        self.up = self.gate_open = False
        self.feeder.alive = self.gate.alive = self.agent.alive = False
        self.boot_id = ""
        slow = self.chance.random() < 0.4
        self.world.line.after(
            self.chance.uniform(90.0, 160.0) if slow else self.chance.uniform(5.0, 40.0), self.boot
        )

    def lie(self) -> PeerReply | None:
        """Return the false answer of a Byzantine node; None if the node follows the protocol."""
        if not self.byzantine_peer:
            return None
        return self.chance.choice([PeerReply.HEALTHY, PeerReply.FENCE_NOW, PeerReply.API_OUT_OF_REACH])

    # Processes.

    def stop_agent(self, back_after: float) -> None:
        """Stop the agent gracefully; it may leave a permit. Another starts after `back_after` seconds."""
        stopped, self._agent_is_back_after = self.agent, back_after
        stopped.stop()

        def end() -> None:
            if stopped.alive:
                self.restart_agent(back_after)

        self.world.line.after(STOPPED_WITHIN, end)

    def stop_gracefully(self) -> None:
        self.world.tell(f"{self.name} stands down")
        self.world.counts["stood down"] += 1
        self.permitted = True
        self.restart_agent(self._agent_is_back_after)

    def restart_agent(self, after: float) -> None:
        self.agent.alive = False
        boot = self.boot_id
        self.world.line.after(after, lambda: self._start_agent(boot))

    def _start_agent(self, boot: str) -> None:
        if self.up and self.boot_id == boot and self.gate_open and not self.agent.alive:
            self.agent = AgentProcess(self)

    def restart_feeder(self, after: float) -> None:
        """Kill the feeder and start another later.

        Its descriptor closes without the magic byte, so the kernel pings.
        """
        if self.feeder.alive:
            self.feeder.die()
        boot = self.boot_id
        self.world.line.after(after, lambda: self._start_feeder(boot))

    def _start_feeder(self, boot: str) -> None:
        if self.up and self.boot_id == boot and not self.feeder.alive:
            self.feeder = self.make_feeder()

    # The gate.

    @property
    def is_guarded(self) -> bool:
        """True if the watchdog runs, so that this boot ends when pings stop."""
        return self.watchdog.left() > 0.0

    def open_gate(self) -> None:
        """Open the gate: this boot is published, and there was no marker.

        The kubelet then starts the pods of the node, and later the agent. Until then the feeder relies on its
        own API checks.
        """
        if not self.is_guarded:
            raise BrokenError(f"I1: the gate of {self.name} opens before its watchdog runs")
        self.gate_open = True
        slow = self.chance.random() < 0.2
        wait = self.chance.uniform(20.0, 50.0) if slow else self.chance.uniform(0.5, 8.0)
        boot = self.boot_id
        self.world.line.after(wait, lambda: self._start_agent(boot))
