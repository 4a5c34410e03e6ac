"""Self-fencing parts of a machine: the real agent, and simulated feeder, watchdog and boot gate.

The agent is the one that ships, over simulated ports. The feeder and its device are a few lines here; a
separate campaign simulates the feeder that ships second by second.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from math import inf
from typing import Final

from nodemend.agent.certificates import CertificateHeld, CertificateStatus
from nodemend.agent.heartbeat import Heartbeat, HeartbeatCommand, HeartbeatEvent
from nodemend.agent.heartbeat_loop import FeederTold, HeartbeatLoop
from nodemend.agent.peer_responder import PeerResponder, PeerResponderLoop
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState
from nodemend.api.agent import AgentReport, LastReset, PeerEntry, WatchdogReport
from nodemend.api.resources import NODE
from nodemend.kube.outcome import LeaseFound, LeaseMissing
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import (
    AgentLease,
    AgentLeaseResult,
    ask_lease,
    place_lease,
    renew_lease,
    understand,
)
from simulation.cluster.direct import Direct
from simulation.cluster.machines import Machine
from simulation.network import GOOD_LINK, Endpoint, Link
from simulation.processes import HostClock, SimulatedProcess, SimulatedSignal
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

WATCHDOG: Final = 10.0
TICK: Final = 0.5
PING_EVERY: Final = 2.0
A_TRY: Final = 3.0
BETWEEN_PEERS: Final = 0.01
A_DAY: Final = CertificateHeld(life=86_400.0, left=86_400.0)
"""A valid certificate, as agents have while a signer runs."""
HARDWARE: Final = WatchdogReport(class_="hardware", driver="simulated", written=WATCHDOG, effective=WATCHDOG)


@dataclass(slots=True)
class Rack:
    """All fenced machines by name, and their connection to the API server."""

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
        """True if the machine is cut off from its peers."""
        self.has_gate = gated
        self.holding: CertificateStatus = A_DAY
        """The certificate of the agent."""
        self._rack = rack
        self._scheduler = rack.scheduler
        self._boot = -1
        self._fed_until = 0.0
        self._pinged_at = 0.0
        self._fence_requested = False
        self._armed = False
        self._last_reset: LastReset | None = None
        self.process: SimulatedProcess
        self.responder: PeerResponderLoop | None = None
        self._link: Link
        self._tick()

    # Simulated hardware: feeder, watchdog and boot.

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
        if now - self._pinged_at >= PING_EVERY and now < self._fed_until and not self._fence_requested:
            self._pinged_at = now
        if self._armed and self.watchdog.effective and now - self._pinged_at >= self.watchdog.effective:
            self._reset()

    def _start(self) -> None:
        self._fence_requested, self._armed, self._fed_until = False, False, 0.0
        name = f"agent of {self.machine.boot_id}"
        self.process = SimulatedProcess(self._scheduler, name, HostClock())
        self._link = Link(self.process, self._rack.endpoint, GOOD_LINK)
        self.process.spawn(self._live(), "agent")

    def _end_processes(self) -> None:
        if self._boot >= 0:
            self.process.crash()
            self.responder, self._armed = None, False

    def seize(self) -> None:
        """A hostile root stops the agent and disarms the watchdog. The machine keeps running."""
        self.process.crash()
        self.responder, self._armed = None, False

    def _reset(self) -> None:
        self._scheduler.note(f"{self.machine.name} is reset by its watchdog")
        self.resets += 1
        self._last_reset = LastReset(
            boot_id=self.machine.boot_id,
            fence_requested=self._fence_requested,
            lived_on=self.watchdog.effective,
        )
        self.machine.power_off()
        self.machine.power_on()

    # Processes: first the boot gate, then the agent.

    async def _live(self) -> None:
        transport, process = SimulatedTransport(self._link), self.process
        await process.sleep(process.random())
        who = AgentIdentity(
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
        watch = Heartbeat(who, memory, chance=process.random(), healthy_wanted=2)
        self.responder = PeerResponderLoop(
            runtime=process,
            transport=transport,
            watch=watch,
            responder=PeerResponder(),
        )
        await HeartbeatLoop(
            node=self.machine.name,
            watch=watch,
            runtime=process,
            transport=transport,
            state_files=self,
            peers=self,
            feeder=self,
            certificate=self,
            listener=self,
        ).run()

    async def _pass_the_gate(self, who: AgentIdentity, transport: SimulatedTransport) -> AgentState:
        """Publish this boot; return once that is acknowledged and no marker requests a reset."""
        memory = AgentState(active_terms=ActiveTerms())
        while self.has_gate:
            news = await self._read_lease(transport)
            if isinstance(news, LeaseFound) and isinstance(news.lease.report, AgentReport):
                memory = memory.take_up(who, news.lease.report)
            published = isinstance(news, LeaseFound) and _is_published(news.lease, who)
            if published and isinstance(news, LeaseFound) and news.lease.clean:
                break
            if not published and isinstance(news, LeaseFound | LeaseMissing):
                memory = await self._publish(who, memory, news, transport)
            await self.process.sleep(1.0)
        return memory

    async def _read_lease(self, transport: SimulatedTransport) -> AgentLeaseResult:
        deadline = self.process.monotonic() + A_TRY
        return understand(await transport.send(ask_lease(self.machine.name), deadline))

    async def _publish(
        self,
        who: AgentIdentity,
        memory: AgentState,
        known: LeaseFound[AgentLease] | LeaseMissing,
        transport: SimulatedTransport,
    ) -> AgentState:
        name, process = self.machine.name, self.process
        memory, renewal = memory.renew(who, process.monotonic())
        marker = known.lease.marker if isinstance(known, LeaseFound) else None
        wall, report = process.wall(), renewal.report.but(answers=marker.epoch if marker else None)
        write = (
            renew_lease(name, known.lease, report, wall)
            if isinstance(known, LeaseFound)
            else place_lease(name, report, wall)
        )
        await transport.send(write, process.monotonic() + A_TRY)
        return memory

    def _node_uid(self) -> str:
        node = self._rack.api.get(NODE, self.machine.name)
        return str(node["metadata"]["uid"]) if node is not None else "none"

    # Ports of the agent.

    def feed_until(self, until: float) -> None:
        self._fed_until = until

    def fence_now(self, why: str) -> None:
        self._scheduler.note(f"{self.machine.name} condemns itself: {why}")
        self._fence_requested = True

    def stop_gracefully(self) -> None:
        self._fed_until = inf

    def stand_up(self) -> None:
        """Do nothing: no earlier agent left a permit to run unattended."""

    def remember(self, memory: AgentState) -> None:
        """Do nothing: the processes keep their state in memory for the whole boot."""

    def report(self) -> FeederTold:
        return FeederTold(self.watchdog)

    def read_status(self) -> CertificateStatus:
        return self.holding

    def stepped(
        self, event: HeartbeatEvent, commands: tuple[HeartbeatCommand, ...], memory: AgentState, now: float
    ) -> None:
        """Do nothing: no observer is attached."""

    async def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, PeerReply], None]:
        answers: list[tuple[str, PeerReply]] = []
        reported = self.process.signal()
        for peer in peers:
            self._ask_one(peer.name, answers, reported)
        given = 0
        while given < len(peers):
            if not answers and not await reported.wait(max(0.0, deadline - self.process.monotonic())):
                return
            while answers:
                given += 1
                yield answers.pop(0)

    def _ask_one(self, name: str, answers: list[tuple[str, PeerReply]], reported: SimulatedSignal) -> None:
        other, me = self._rack.members.get(name), self.machine
        if other is None or other.responder is None or self.deaf or other.deaf:
            return
        uid, boot, asker, responder = self._node_uid(), me.boot_id, self.process, other.responder

        async def answer() -> None:
            await other.process.sleep(BETWEEN_PEERS)
            said = await responder.ask(me.name, uid, boot, A_TRY)

            def hear() -> None:
                answers.append((name, said))
                reported.set()

            asker.schedule(hear, after=BETWEEN_PEERS)

        other.process.spawn(answer(), f"answer {me.name}")


def _is_published(lease: AgentLease, who: AgentIdentity) -> bool:
    """Return whether the Lease's report is of this boot and answers the marker, if there is one."""
    report, marker = lease.report, lease.marker
    if not isinstance(report, AgentReport) or (report.node_uid, report.boot_id) != (
        who.node_uid,
        who.boot_id,
    ):
        return False
    return marker is None or report.answers == marker.epoch
