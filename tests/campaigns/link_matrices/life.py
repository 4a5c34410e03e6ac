"""One node from before a cut of links until long after: the shipped state machine with simulated events.

Until time 0 every link works. Then links are cut permanently. Only timeouts take time: relevant are the
working links, and that the node's last clean API check is as late as possible.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from nodemend.agent.heartbeat import (
    AskPeers,
    CreateLease,
    FeedUntil,
    FenceNow,
    Heartbeat,
    HeartbeatCommand,
    HeartbeatEvent,
    HeartbeatStarted,
    PeerAnswered,
    ReadLease,
    Remember,
    RenewLease,
    ResumeFeeding,
    RoundEnded,
    StartParallelRead,
    StopGracefully,
    StopParallelReads,
    WaitEnded,
    WaitUntil,
)
from nodemend.agent.state import AgentIdentity
from nodemend.api.agent import HARDWARE, AgentReport, Marker, PeerEntry, PeerProposal, WatchdogReport
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.protocol.peers import PeerReply
from nodemend.protocol.timing import OwnContact
from nodemend.records.agent_lease import AgentLease, AgentLeaseResult

BEGAN: Final = -20.0
"""A whole number of renewals before the cut, so that the last one is acknowledged just then."""
UNTIL: Final = 100.0
W: Final = 10.0
HEALTHY_WANTED: Final = 2
_BOOT: Final = "boot"
_UNHEARD: Final = LeaseFailed("no answer in time")

Say = Callable[[str, float, AgentLease], PeerReply]
"""The answer that the node gets from that peer, at that time, with its Lease in that state."""


@dataclass(frozen=True, slots=True)
class Line:
    """The link between a node and the API server after the cut, for each direction."""

    heard: bool
    hears: bool

    @property
    def whole(self) -> bool:
        return self.heard and self.hears


@dataclass(slots=True)
class Life:
    """The results. Times are true time."""

    reports: list[tuple[float, AgentReport]] = field(default_factory=list)
    """The reports as its Lease had them, the newest last."""
    contacts: list[tuple[float, OwnContact]] = field(default_factory=list)
    fed_until: float = BEGAN
    """The time until which its watchdog may be fed."""
    fence_requested: bool = False

    def report_at(self, now: float) -> AgentReport:
        return next(report for when, report in reversed(self.reports) if when <= now)

    def contact_at(self, now: float) -> OwnContact:
        return next(contact for when, contact in reversed(self.contacts) if when <= now)


def live(name: str, peers: tuple[str, ...], line: Line, say: Say, *, marked: bool = False) -> Life:
    """Simulate its whole life. `marked`: at the cut its Lease gets a marker."""
    return _Living(name, peers, line, say, marked=marked).whole()


class _Living:
    def __init__(self, name: str, peers: tuple[str, ...], line: Line, say: Say, *, marked: bool) -> None:
        self.life = Life()
        self._now = BEGAN
        self._line = line
        self._say = say
        self._marker = Marker(node_uid=name, boot_id=_BOOT, remediation_uid="r") if marked else None
        watchdog = WatchdogReport(class_=HARDWARE, driver="i6300ESB timer", written=W, effective=W)
        who = AgentIdentity(node_uid=name, boot_id=_BOOT, watchdog=watchdog, boot_gate=True)
        self._watch = Heartbeat(who, None, chance=0.3, healthy_wanted=HEALTHY_WANTED)
        self._lease: AgentLease | None = None
        self._proposal = PeerProposal(peers=tuple(PeerEntry(name=one, address="") for one in peers))

    def whole(self) -> Life:
        event: HeartbeatEvent | None = HeartbeatStarted()
        while event is not None and self._now < UNTIL:
            event = self._perform(self._watch.step(event, self._now, self._now))
        return self.life

    def _perform(self, commands: tuple[HeartbeatCommand, ...]) -> HeartbeatEvent | None:
        """The next event; None if the node has ended."""
        reported: HeartbeatEvent | None = None
        for command in commands:
            match command:
                case FeedUntil(until):
                    self.life.fed_until = until
                case FenceNow():
                    self.life.fence_requested = True
                    self.life.fed_until = min(self.life.fed_until, self._now)
                case Remember(memory):
                    if memory.contact is not None:
                        self.life.contacts.append((self._now, memory.contact))
                case ReadLease() | CreateLease() | RenewLease():
                    reported = self._ask_api(command)
                case AskPeers():
                    reported = self._ask_peers(command)
                case StopGracefully() | ResumeFeeding():
                    pass  # It is never stopped.
                case StartParallelRead() | StopParallelReads():
                    pass  # A link works or does not: these checks would observe no more than renewals do.
                case WaitUntil(until):
                    self._now, reported = until, WaitEnded()
        return reported

    def _ask_api(self, request: ReadLease | CreateLease | RenewLease) -> AgentLeaseResult:
        line = Line(heard=True, hears=True) if self._now <= 0 else self._line
        answer = self._serve(request) if line.heard else _UNHEARD
        if line.heard and line.hears:
            return answer
        self._now = request.deadline
        return _UNHEARD

    def _serve(self, request: ReadLease | CreateLease | RenewLease) -> AgentLeaseResult:
        lease = self.lease
        match request:
            case ReadLease():
                return LeaseMissing() if lease is None else LeaseFound(lease)
            case CreateLease(report):
                return self._store(AgentLease(uid="l", version="0", proposal=self._proposal), report)
            case RenewLease(known, report):
                if lease is None or lease.version != known.version:
                    return LeaseOutdated()
                return self._store(lease, report)

    def _store(self, lease: AgentLease, report: AgentReport) -> LeaseFound[AgentLease]:
        self.life.reports.append((self._now, report))
        self._lease = replace(lease, version=str(int(lease.version) + 1), report=report)
        return LeaseFound(self._lease)

    @property
    def lease(self) -> AgentLease | None:
        """Its current state: the marker is written at the cut, after all earlier acknowledged writes."""
        if self._lease is not None and self._marker is not None and self._now > 0:
            version = f"{self._lease.version}0" if self._lease.marker is None else self._lease.version
            self._lease = replace(self._lease, marker=self._marker, version=version)
        return self._lease

    def _ask_peers(self, asked: AskPeers) -> HeartbeatEvent | None:
        lease = self.lease
        if lease is None:
            raise ValueError("a node has peers only after its Lease was placed")
        for peer in asked.peers:
            said = self._say(peer.name, self._now, lease)
            if said is PeerReply.SILENT:
                continue
            commands = self._watch.step(PeerAnswered(asked.round, peer.name, said), self._now, self._now)
            if commands:
                return self._perform(commands)
        self._now = asked.deadline
        return RoundEnded(asked.round)
