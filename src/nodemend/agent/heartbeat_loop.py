"""Runs the agent's state machine: executes its commands, returns their results as events, and logs changes.

While renewals fail, it reads the node's own Lease in parallel, limited in number and duration. It reaches the
host and the peers through ports, so that the simulated world runs the same loop.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Protocol, assert_never

from nodemend.agent.certificates import CertificateStatus
from nodemend.agent.heartbeat import (
    AskPeers,
    Commands,
    CreateLease,
    FeedUntil,
    FenceNow,
    Heartbeat,
    HeartbeatCommand,
    HeartbeatEvent,
    HeartbeatStarted,
    ImmediateCommand,
    ParallelReadEnded,
    PeerAnswered,
    ReadLease,
    Remember,
    RenewLease,
    ResumeFeeding,
    RoundEnded,
    StartParallelRead,
    StopGracefully,
    StopParallelReads,
    StopRequested,
    WaitEnded,
    WaitUntil,
)
from nodemend.agent.state import AgentState, Names, names
from nodemend.api.agent import UNSUPPORTED, AgentReport, PeerEntry, WatchdogReport
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing
from nodemend.kube.ports import Runtime, Task, Transport
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import AgentLeaseResult, ask_lease, place_lease, renew_lease, understand
from nodemend.telemetry.logging import Log

SPREAD: Final = 0.4
"""Fraction of the interval between two reads that is random: nodes that lost the API server together must not
read together."""


@dataclass(slots=True, kw_only=True)
class ParallelReads:
    """Runs the reads, and passes each answer to the callback as it arrives. `close` ends running reads."""

    node: str
    runtime: Runtime
    transport: Transport
    tell: Callable[[ParallelReadEnded], None]
    _turns: Task | None = None
    _under_way: dict[int, Task] = field(default_factory=dict)
    _number: int = 0

    def begin(self, command: StartParallelRead) -> None:
        if self._turns is None:
            self._turns = self.runtime.spawn(self._take_turns(command), "looks beside renewals")

    def stop(self) -> None:
        if self._turns is not None:
            self._turns.cancel()
            self._turns = None

    async def close(self) -> None:
        turns = self._turns
        self.stop()
        for task in (turns, *self._under_way.values()):
            if task is not None:
                task.cancel()
                await task.join()
        self._under_way.clear()

    async def _take_turns(self, command: StartParallelRead) -> None:
        while True:
            if len(self._under_way) < command.most:
                self._number += 1
                number = self._number
                self._under_way[number] = self.runtime.spawn(self._read(number, command), f"look {number}")
            await self.runtime.sleep(command.every * (1 + SPREAD * (self.runtime.random() - 0.5)))

    async def _read(self, number: int, command: StartParallelRead) -> None:
        asked_at = self.runtime.monotonic()
        try:
            reply = await self.transport.send(ask_lease(self.node), asked_at + command.within)
        finally:
            self._under_way.pop(number, None)
        self.tell(ParallelReadEnded(understand(reply), asked_at))


class StateFiles(Protocol):
    """Files that outlive the process, but not the boot. Each is whole or does not exist."""

    def feed_until(self, until: float) -> None:
        """Let the feeder continue until this time."""
        ...

    def fence_now(self, why: str) -> None:
        """Ensure that this boot is never fed again."""
        ...

    def stop_gracefully(self) -> None:
        """Let the feeder continue without a lease."""
        ...

    def stand_up(self) -> None:
        """Let the feeder continue by its lease alone, as before."""
        ...

    def remember(self, memory: AgentState) -> None: ...


class Peers(Protocol):
    def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, PeerReply], None]:
        """Ask all peers at once; yield each answer as it arrives.

        Ends by `deadline`, or when all have answered, or when the caller stops iterating.
        """
        ...


@dataclass(frozen=True, slots=True)
class FeederTold:
    watchdog: WatchdogReport
    longest_lease: float | None = None
    """Seconds; None if there is no feeder."""


class FeederPort(Protocol):
    def report(self) -> FeederTold:
        """Return the report at once. Never raises: an unknown feeder is a report, too."""
        ...


class Certificate(Protocol):
    def read_status(self) -> CertificateStatus:
        """Return at once what peers would accept of this node now. Never raises."""
        ...


class Listener(Protocol):
    def stepped(
        self, event: HeartbeatEvent, commands: tuple[HeartbeatCommand, ...], memory: AgentState, now: float
    ) -> None:
        """Receive a step of the state machine: the event, the commands it returned, and its state by then."""
        ...


@dataclass(slots=True, kw_only=True)
class HeartbeatLoop:
    """Runs the state machine.

    `transport` sends once and ends by its deadline: a hidden retry would outlast what remediators rely on.
    """

    node: str
    watch: Heartbeat
    runtime: Runtime
    transport: Transport
    state_files: StateFiles
    peers: Peers
    feeder: FeederPort
    certificate: Certificate
    listener: Listener
    _parallel_reads: ParallelReads = field(init=False)

    def __post_init__(self) -> None:
        self._parallel_reads = ParallelReads(
            node=self.node, runtime=self.runtime, transport=self.transport, tell=self._read_ended
        )

    async def run(self) -> None:
        """Run until this boot must end."""
        try:
            await self._go_on(self._begin(HeartbeatStarted()))
        finally:
            await self._parallel_reads.close()

    async def stop_gracefully(self) -> None:
        """Stop gracefully after `run` has ended: until that is acknowledged, or this boot must end."""
        await self._go_on(self._step(StopRequested()))

    async def _go_on(self, commands: Commands) -> None:
        while commands:
            commands = await self._carry_out(commands)

    def _read_ended(self, looked: ParallelReadEnded) -> None:
        """Process a parallel read. Called at any time, also while a command waits."""
        for command in self._step(looked):
            match command:
                case FeedUntil() | FenceNow():
                    self._do_at_once(command)
                case _:
                    raise AssertionError(f"a parallel read returned {command}")

    def _do_at_once(self, command: ImmediateCommand) -> None:
        match command:
            case StartParallelRead():
                self._parallel_reads.begin(command)
            case StopParallelReads():
                self._parallel_reads.stop()
            case FeedUntil(until):
                self.state_files.feed_until(until)
            case FenceNow(why, at_once):
                # In a drill the feed lease ends by itself: nothing renews it, not even a restarted agent.
                if at_once:
                    self.state_files.fence_now(why)
            case StopGracefully():
                self.state_files.stop_gracefully()
            case ResumeFeeding():
                self.state_files.stand_up()
            case Remember(memory):
                self.state_files.remember(memory)
            case _:
                assert_never(command)

    async def _carry_out(self, commands: Commands) -> Commands:
        """Execute commands in order, wait for the last, return the next ones; none if this boot must end."""
        for command in commands:
            match command:
                case WaitUntil(until):
                    await self.runtime.sleep(max(0.0, until - self.runtime.monotonic()))
                    return self._begin(WaitEnded())
                case AskPeers():
                    return await self._ask(command)
                case ReadLease() | CreateLease() | RenewLease():
                    return self._step(await self._request(command))
                case _:
                    self._do_at_once(command)
        return ()

    def _begin(self, event: HeartbeatStarted | WaitEnded) -> Commands:
        """Update the feeder's report and the certificate, because a renewal follows that publishes them."""
        reported = self.feeder.report()
        self.watch.learn(reported.watchdog, reported.longest_lease)
        holding = self.certificate.read_status()
        self.watch.learn_certificate(holding, self.runtime.wall(), self.runtime.monotonic())
        return self._step(event)

    def _step(self, event: HeartbeatEvent) -> Commands:
        now = self.runtime.monotonic()
        commands = self.watch.step(event, now, self.runtime.unslewed())
        self.listener.stepped(event, commands, self.watch.memory, now)
        return commands

    async def _request(self, command: ReadLease | CreateLease | RenewLease) -> AgentLeaseResult:
        match command:
            case ReadLease():
                request = ask_lease(self.node)
            case CreateLease(report):
                request = place_lease(self.node, report, self.runtime.wall())
            case RenewLease(known, report):
                request = renew_lease(self.node, known, report, self.runtime.wall())
            case _:
                assert_never(command)
        return understand(await self.transport.send(request, command.deadline))

    async def _ask(self, command: AskPeers) -> Commands:
        async with aclosing(self.peers.ask(command.peers, command.deadline)) as answers:
            async for peer, answer in answers:
                if commands := self._step(PeerAnswered(command.round, peer, answer)):
                    return commands
        return self._step(RoundEnded(command.round))


_TELL_AFTER: Final = 3
"""Failures in a row before a warning. One or two are normal: a server that restarts, a lost reply."""


class HeartbeatLog:
    """A Listener that writes the log. A healthy node writes three lines at the start, and none afterwards."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._failures = 0
        self._out_since: float | None = None
        self._known = False
        self._peers: Names | None = None
        self._watchdog: WatchdogReport | None = None
        self._answers: Counter[PeerReply] = Counter()
        self._reported_kinds: frozenset[PeerReply] | None = None

    def stepped(
        self, event: HeartbeatEvent, commands: tuple[HeartbeatCommand, ...], memory: AgentState, now: float
    ) -> None:
        match event:
            case LeaseFound(lease):
                self._reached(lease.report, memory, now)
            case LeaseFailed(why):
                self._failed(why, memory, now)
            case LeaseMissing():
                self._log.info("this node has no agent Lease yet: it is created")
            case PeerAnswered(_, _, answer):
                self._answers[answer] += 1
            case _:
                pass
        if isinstance(event, PeerAnswered | RoundEnded) and commands:
            self._heard_peers(commands, memory, now)
        for command in commands:
            match command:
                case FenceNow(why):
                    self._log.error("this boot must end: its watchdog is never fed again", why=why)
                case StopGracefully():
                    self._log.info(
                        "stopped gracefully: the feeder feeds the watchdog without an agent, and no proof"
                        " relies on it"
                    )
                case _:
                    pass

    def _reached(self, report: object, memory: AgentState, now: float) -> None:
        """Log the changes in the Lease, as read or as just written."""
        self._failures, self._reported_kinds = 0, None
        if self._out_since is not None:
            self._log.info("the API server is reached again", after_seconds=round(now - self._out_since, 1))
            self._out_since = None
        if memory.contact is None or not isinstance(report, AgentReport):
            return
        if not self._known:
            self._known = True
            self._log.info(
                "the API server knows this boot", boot_id=report.boot_id, boot_gate=report.boot_gate
            )
        if report.watchdog != self._watchdog:
            self._tell_watchdog(report.watchdog)
        if names(memory.active_terms.peers) != self._peers:
            self._peers = names(memory.active_terms.peers)
            self._log.info("peers to ask", count=len(self._peers), names=", ".join(self._peers))

    def _tell_watchdog(self, found: WatchdogReport) -> None:
        self._watchdog = found
        if found.class_ == UNSUPPORTED:
            self._log.warning("no release can rest on this node's watchdog", why=found.why)
        else:
            reported = {
                "watchdog": found.class_,
                "driver": found.driver,
                "resets_after_seconds": found.effective,
            }
            self._log.info(
                "this node resets itself if neither the API server nor its peers renew its feed lease",
                **reported,
            )

    def _failed(self, why: str, memory: AgentState, now: float) -> None:
        self._failures += 1
        if self._failures == _TELL_AFTER:
            self._out_since = now
            left = round(max(0.0, memory.fed_until - now), 1)
            self._log.warning("the API server is not reached", why=why, fed_for_seconds=left)

    def _heard_peers(self, commands: tuple[HeartbeatCommand, ...], memory: AgentState, now: float) -> None:
        """Log a round that ended with a verdict, if its kinds of answers have changed.

        The counts are not compared: they depend on the peers that are asked first.
        """
        if any(isinstance(one, AskPeers) for one in commands):
            return  # The remaining peers are asked now.
        answers, self._answers = self._answers, Counter()
        kinds = frozenset(answers) - {PeerReply.SILENT}
        if kinds == self._reported_kinds:
            return
        self._reported_kinds = kinds
        reported = {answer.value.lower().replace("-", "_"): count for answer, count in answers.items()}
        left = round(max(0.0, memory.fed_until - now), 1)
        self._log.warning(
            "peers were asked", fed_for_seconds=left, asked=len(memory.active_terms.peers), **reported
        )
