"""A node: a watchdog that counts, and the shipped feeder, boot gate and agent."""

from random import Random

from nodemend.agent.feeder.records import CLOSED, NoRecord
from nodemend.agent.feeder.status_text import format_status, parse_status
from nodemend.agent.feeder.words import Status
from nodemend.agent.memory import Memory, Self
from nodemend.api.agent_lease import WatchdogReport
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.peer_verdict import Answer
from tests.simulation.fencing.agent_process import AgentProcess
from tests.simulation.fencing.feeder_process import WATCHDOG, FeederProcess
from tests.simulation.fencing.gate_process import GateProcess
from tests.simulation.fencing.papers import Papers
from tests.simulation.fencing.surroundings import BrokenError, Surroundings
from tests.simulation.fencing.time_line import Clock

STOPPED_WITHIN = 15.0
"""Seconds that kubelet gives an agent to end by itself."""
_WORTH = WatchdogReport(class_="hardware", written=float(WATCHDOG), effective=float(WATCHDOG))


class Watchdog:
    """A device that resets its machine. Opening it, setting it and closing it are pings."""

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

    def left(self) -> float:
        """Seconds until the reset; 0 when it does not run."""
        return 0.0 if self._ends is None else max(0.0, self._ends - self._node.world.line.now)

    def _check(self) -> None:
        if self._ends is None or self._node.boot_id != self._boot:
            return
        if self._node.world.line.now < self._ends:
            self._node.world.line.at(self._ends, self._check)
        else:
            self._node.reset("its watchdog ran out")


class Node:
    def __init__(self, name: str, world: Surroundings, chance: Random, liar: bool) -> None:
        self.name = name
        self.world = world
        self.chance = chance
        self.liar = liar
        self.stubborn = chance.random() < 0.5
        """Lives as long as the rules allow: pings as late as can be, and dies when that pings once more."""
        self.papers = Papers.of_some_age(chance)
        self.wall_error = 0.0
        """Seconds by which its wall clock is wrong: somebody has set it."""
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
        """An agent has left its permit."""
        self.gate_standing = CLOSED
        """What the gate has left for the feeder."""
        self.memory: Memory | None = None
        self.condemned_at = 0.0
        self._status: dict[str, str] | None = {}
        self.feeder = self.make_feeder()
        self.gate = GateProcess(self)
        # It is a pod: there is none before kubelet runs.
        self.agent = AgentProcess(self)
        self.agent.alive = False

    def draw_rate(self) -> float:
        """Of the clock of its next boot."""
        return 1 + self.chance.uniform(-1, 1) * self.world.clock_error

    def draw_watchdog(self) -> float:
        """True seconds from a ping to the end, in its next boot."""
        worst = WATCHDOG / (1 - self.world.watchdog_error)
        return self.chance.choice([worst, self.chance.uniform(0.9 * WATCHDOG, worst)])

    def make_feeder(self) -> FeederProcess:
        return FeederProcess(self)

    @property
    def healthy_wanted(self) -> int:
        """Peers that must have seen no marker."""
        return 1 + self.world.liars

    @property
    def uid(self) -> str:
        """Of its Node."""
        return self.name

    @property
    def wall(self) -> float:
        return self.world.line.now + self.wall_error

    @property
    def who(self) -> Self:
        who = Self(
            node_uid=self.uid,
            boot_id=self.boot_id,
            watchdog=_WORTH,
            address=f"{self.name}:9771",
            boot_gate=True,
            longest_lease=self.world.lease_length,
            ride_through=self.world.ride_through,
        )
        return who.stood_down() if self.permitted else who

    def tell(self, status: Status) -> None:
        """The feeder writes how things stand."""
        self._told, self._status = status, None

    @property
    def status(self) -> dict[str, str]:
        """As it stands in the feeder's file: printed and read when somebody looks."""
        if self._status is None:
            self._status = parse_status(format_status(self._told, self.boot_id, []))
        return self._status

    def reset(self, why: str) -> None:
        """The machine is off at once, and back after a while."""
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

    def lie(self) -> Answer | None:
        """What a node says that does not keep the rules; None if it does."""
        if not self.liar:
            return None
        return self.chance.choice([Answer.HEALTHY, Answer.CONDEMNED, Answer.API_OUT_OF_REACH])

    # Processes.

    def stop_agent(self, back_after: float) -> None:
        """In order: it may stand down. Another is there after a while, or very late."""
        stopped, self._agent_is_back_after = self.agent, back_after
        stopped.stop()

        def end() -> None:
            if stopped.alive:
                self.restart_agent(back_after)

        self.world.line.after(STOPPED_WITHIN, end)

    def stand_down(self) -> None:
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
        """Its descriptor closes without the magic byte, and the kernel pings."""
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
        """Its watchdog runs, so that this boot ends when nothing feeds it."""
        return self.watchdog.left() > 0.0

    def open_gate(self) -> None:
        """This boot is published, and there was no marker: kubelet starts what is bound to the node.

        And the agent, sooner or later: until then the feeder lives by its own looks.
        """
        if not self.is_guarded:
            raise BrokenError(f"I1: the gate of {self.name} opens before its watchdog runs")
        self.gate_open = True
        slow = self.chance.random() < 0.2
        wait = self.chance.uniform(20.0, 50.0) if slow else self.chance.uniform(0.5, 8.0)
        boot = self.boot_id
        self.world.line.after(wait, lambda: self._start_agent(boot))
