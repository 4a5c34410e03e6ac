"""What ends a machine by itself: the shipped agent on it, a feeder, a watchdog, and a boot gate.

The agent is the shipped one, over simulated ports. The feeder and its device are a few lines here: those that
ship are played second by second in their own campaign.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from nodemend.agent.certificate import Held, Holding
from nodemend.agent.memory import Memory, Self
from nodemend.agent.peer_desk import PeerDesk
from nodemend.agent.peer_desk_loop import PeerDeskLoop
from nodemend.agent.ports import FeederTold
from nodemend.agent.published import Conduct
from nodemend.agent.self_watch import SelfWatch
from nodemend.agent.self_watch_loop import SelfWatchLoop
from nodemend.agent.self_watch_steps import Command, Event
from nodemend.api.agent_lease import AgentReport, LastReset, PeerEntry, WatchdogReport
from nodemend.api.group_versions import NODE
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import (
    AgentLease,
    Found,
    LeaseNews,
    Missing,
    ask_lease,
    place_lease,
    renew_lease,
    understand,
)
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.network import GOOD_LINK, Endpoint, Link
from nodemend.testing.processes import HostClock, SimulatedProcess, SimulatedSignal
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport

WATCHDOG: Final = 10.0
TICK: Final = 0.5
PING_EVERY: Final = 2.0
A_TRY: Final = 3.0
BETWEEN_PEERS: Final = 0.01
A_DAY: Final = Held(life=86_400.0, left=86_400.0)
"""A certificate as they are while there is a signer."""
HARDWARE: Final = WatchdogReport(class_="hardware", driver="simulated", written=WATCHDOG, effective=WATCHDOG)


@dataclass(slots=True)
class Rack:
    """All of them, by name, and their way to the API server."""

    api: Direct
    endpoint: Endpoint
    scheduler: Scheduler
    members: "dict[str, FencedMachine]" = field(default_factory=dict)

    def fence(
        self, machine: Machine, *, gated: bool = True, watchdog: WatchdogReport = HARDWARE
    ) -> "FencedMachine":
        fenced = self.members[machine.name] = FencedMachine(machine, self, gated=gated, watchdog=watchdog)
        return fenced

    def close(self) -> None:
        for fenced in self.members.values():
            fenced.process.crash()


class FencedMachine:
    def __init__(self, machine: Machine, rack: Rack, *, gated: bool, watchdog: WatchdogReport) -> None:
        self.machine = machine
        self.watchdog = watchdog
        self.resets = 0
        self.deaf = False
        """Cut off from its peers."""
        self.has_gate = gated
        self.holding: Holding = A_DAY
        """The certificate that it has."""
        self._rack = rack
        self._scheduler = rack.scheduler
        self._boot = -1
        self._fed_until = 0.0
        self._pinged_at = 0.0
        self._condemned = False
        self._armed = False
        self._last_reset: LastReset | None = None
        self.process: SimulatedProcess
        self.desk: PeerDeskLoop | None = None
        self._link: Link
        self._tick()

    # The machine: a feeder, a watchdog, and what happens at a boot.

    def _tick(self) -> None:
        self._scheduler.after(TICK, self._tick)
        machine, now = self.machine, self._scheduler.now
        if self._boot != machine.boots:
            self._end_processes()
            machine.gated = self.has_gate
        if not machine.booted:
            return
        if self._boot != machine.boots:
            self._boot = machine.boots
            self._start()
        self._link.up = self._link.down = machine.connected
        if now - self._pinged_at >= PING_EVERY and now < self._fed_until and not self._condemned:
            self._pinged_at = now
        if self._armed and self.watchdog.effective and now - self._pinged_at >= self.watchdog.effective:
            self._reset()

    def _start(self) -> None:
        self._condemned, self._armed, self._fed_until = False, False, 0.0
        name = f"agent of {self.machine.boot_id}"
        self.process = SimulatedProcess(self._scheduler, name, HostClock())
        self._link = Link(self.process, self._rack.endpoint, GOOD_LINK)
        self.process.spawn(self._live(), "agent")

    def _end_processes(self) -> None:
        if self._boot >= 0:
            self.process.crash()
            self.desk, self._armed = None, False

    def seize(self) -> None:
        """A hostile root stops the agent and disarms the watchdog. The machine runs on."""
        self.process.crash()
        self.desk, self._armed = None, False

    def _reset(self) -> None:
        self._scheduler.note(f"{self.machine.name} is reset by its watchdog")
        self.resets += 1
        self._last_reset = LastReset(
            boot_id=self.machine.boot_id, condemned=self._condemned, lived_on=self.watchdog.effective
        )
        self.machine.power_off()
        self.machine.power_on()

    # Its processes: first the gate, then the agent.

    async def _live(self) -> None:
        transport, process = SimulatedTransport(self._link), self.process
        await process.sleep(process.random())
        who = Self(
            node_uid=self._node_uid(),
            boot_id=self.machine.boot_id,
            watchdog=self.watchdog,
            address=f"{self.machine.name}:9771",
            boot_gate=self.has_gate,
            last_reset=self._last_reset,
        )
        memory = await self._pass_the_gate(who, transport)
        self.machine.gated = False
        self._pinged_at, self._fed_until, self._armed = self._scheduler.now, self._scheduler.now + 5.0, True
        watch = SelfWatch(who, memory, chance=process.random(), healthy_wanted=2)
        self.desk = PeerDeskLoop(
            runtime=process, transport=transport, watch=watch, desk=PeerDesk(now=process.monotonic())
        )
        await SelfWatchLoop(
            node=self.machine.name,
            watch=watch,
            runtime=process,
            transport=transport,
            keeper=self,
            peers=self,
            feeder=self,
            certificate=self,
            listener=self,
        ).run()

    async def _pass_the_gate(self, who: Self, transport: SimulatedTransport) -> Memory:
        """Publishes this boot, and ends once that was acknowledged and nobody asks for the node's end."""
        memory = Memory(conduct=Conduct())
        while self.has_gate:
            news = await self._look(transport)
            if isinstance(news, Found) and isinstance(news.lease.report, AgentReport):
                memory = memory.take_up(who, news.lease.report)
            published = isinstance(news, Found) and _is_published(news.lease, who)
            if published and isinstance(news, Found) and news.lease.clean:
                break
            if not published and isinstance(news, Found | Missing):
                memory = await self._publish(who, memory, news, transport)
            await self.process.sleep(1.0)
        return memory

    async def _look(self, transport: SimulatedTransport) -> LeaseNews:
        deadline = self.process.monotonic() + A_TRY
        return understand(await transport.send(ask_lease(self.machine.name), deadline))

    async def _publish(
        self, who: Self, memory: Memory, known: Found | Missing, transport: SimulatedTransport
    ) -> Memory:
        name, process = self.machine.name, self.process
        memory, renewal = memory.renew(who, process.monotonic())
        marker = known.lease.marker if isinstance(known, Found) else None
        wall, report = process.wall(), renewal.report.but(answers=marker.epoch if marker else None)
        write = (
            renew_lease(name, known.lease, report, wall)
            if isinstance(known, Found)
            else place_lease(name, report, wall)
        )
        await transport.send(write, process.monotonic() + A_TRY)
        return memory

    def _node_uid(self) -> str:
        node = self._rack.api.get(NODE, self.machine.name)
        return str(node["metadata"]["uid"]) if node is not None else "none"

    # Its ports.

    def feed_until(self, until: float) -> None:
        self._fed_until = until

    def condemn(self, why: str) -> None:
        self._scheduler.note(f"{self.machine.name} condemns itself: {why}")
        self._condemned = True

    def stand_down(self) -> None:
        self._fed_until = inf

    def stand_up(self) -> None:
        """Nobody was here before."""

    def remember(self, memory: Memory) -> None:
        """Its processes live as long as the boot does."""

    def told(self) -> FeederTold:
        return FeederTold(self.watchdog)

    def look(self) -> Holding:
        return self.holding

    def stepped(self, event: Event, commands: tuple[Command, ...], memory: Memory, now: float) -> None:
        """Nobody listens."""

    async def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, Answer], None]:
        answers: list[tuple[str, Answer]] = []
        told = self.process.signal()
        for peer in peers:
            self._ask_one(peer.name, answers, told)
        given = 0
        while given < len(peers):
            if not answers and not await told.wait(max(0.0, deadline - self.process.monotonic())):
                return
            while answers:
                given += 1
                yield answers.pop(0)

    def _ask_one(self, name: str, answers: list[tuple[str, Answer]], told: SimulatedSignal) -> None:
        other, me = self._rack.members.get(name), self.machine
        if other is None or other.desk is None or self.deaf or other.deaf:
            return
        uid, boot, asker, desk = self._node_uid(), me.boot_id, self.process, other.desk

        async def answer() -> None:
            await other.process.sleep(BETWEEN_PEERS)
            said = await desk.ask(me.name, uid, boot, A_TRY)

            def hear() -> None:
                answers.append((name, said))
                told.set()

            asker.schedule(hear, after=BETWEEN_PEERS)

        other.process.spawn(answer(), f"answer {me.name}")


def _is_published(lease: AgentLease, who: Self) -> bool:
    """Whether its report is of this boot, and answers the marker."""
    report, marker = lease.report, lease.marker
    if not isinstance(report, AgentReport) or (report.node_uid, report.boot_id) != (
        who.node_uid,
        who.boot_id,
    ):
        return False
    return marker is None or report.answers == marker.epoch
