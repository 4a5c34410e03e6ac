"""One node from before a cut of links until long after: the shipped machine, told what it would hear.

Up to time 0 every link is whole. Then links are cut, and stay so. Nothing takes time but waiting for what
does not come: what matters is who hears whom, and that the node's last clean look is as late as it can be.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from nodemend.agent.memory import Self
from nodemend.agent.self_watch import SelfWatch
from nodemend.agent.self_watch_steps import (
    AskPeers,
    Begun,
    Command,
    Condemn,
    Event,
    FeedUntil,
    LookBeside,
    PeerSaid,
    PlaceLease,
    ReadLease,
    Remember,
    RenewLease,
    RoundOver,
    StandDown,
    StandUp,
    StopLooking,
    Wait,
    Waited,
)
from nodemend.api.agent_lease import HARDWARE, AgentReport, Marker, PeerEntry, PeerProposal, WatchdogReport
from nodemend.decide.own_contact import OwnContact
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import AgentLease, Failed, Found, LeaseNews, Missing, Outdated

BEGAN: Final = -20.0
"""A whole number of renewals before the cut, so that the last one is acknowledged just then."""
UNTIL: Final = 100.0
W: Final = 10.0
HEALTHY_WANTED: Final = 2
_BOOT: Final = "boot"
_UNHEARD: Final = Failed("no answer in time")

Say = Callable[[str, float, AgentLease], Answer]
"""What the node hears from that peer, at that time, where its Lease stands so."""


@dataclass(frozen=True, slots=True)
class Line:
    """Between a node and the API server, after the cut. Either way by itself."""

    heard: bool
    hears: bool

    @property
    def whole(self) -> bool:
        return self.heard and self.hears


@dataclass(slots=True)
class Life:
    """What came of it. Times are the one true time."""

    reports: list[tuple[float, AgentReport]] = field(default_factory=list)
    """As its Lease had them, the newest last."""
    contacts: list[tuple[float, OwnContact]] = field(default_factory=list)
    fed_until: float = BEGAN
    """Until then its watchdog may be fed."""
    condemned: bool = False

    def report_at(self, now: float) -> AgentReport:
        return next(report for when, report in reversed(self.reports) if when <= now)

    def contact_at(self, now: float) -> OwnContact:
        return next(contact for when, contact in reversed(self.contacts) if when <= now)


def live(name: str, peers: tuple[str, ...], line: Line, say: Say, *, marked: bool = False) -> Life:
    """Its whole life. `marked`: at the cut a marker is put on its Lease."""
    return _Living(name, peers, line, say, marked=marked).whole()


class _Living:
    def __init__(self, name: str, peers: tuple[str, ...], line: Line, say: Say, *, marked: bool) -> None:
        self.life = Life()
        self._now = BEGAN
        self._line = line
        self._say = say
        self._marker = Marker(node_uid=name, boot_id=_BOOT, remediation_uid="r") if marked else None
        watchdog = WatchdogReport(class_=HARDWARE, driver="i6300ESB timer", written=W, effective=W)
        who = Self(node_uid=name, boot_id=_BOOT, watchdog=watchdog, boot_gate=True)
        self._watch = SelfWatch(who, None, chance=0.3, healthy_wanted=HEALTHY_WANTED)
        self._lease: AgentLease | None = None
        self._proposal = PeerProposal(peers=tuple(PeerEntry(name=one, address="") for one in peers))

    def whole(self) -> Life:
        event: Event | None = Begun()
        while event is not None and self._now < UNTIL:
            event = self._perform(self._watch.step(event, self._now, self._now))
        return self.life

    def _perform(self, commands: tuple[Command, ...]) -> Event | None:
        """What it is told next; None when it has ended."""
        told: Event | None = None
        for command in commands:
            match command:
                case FeedUntil(until):
                    self.life.fed_until = until
                case Condemn():
                    self.life.condemned = True
                    self.life.fed_until = min(self.life.fed_until, self._now)
                case Remember(memory):
                    if memory.contact is not None:
                        self.life.contacts.append((self._now, memory.contact))
                case ReadLease() | PlaceLease() | RenewLease():
                    told = self._ask_api(command)
                case AskPeers():
                    told = self._ask_peers(command)
                case StandDown() | StandUp():
                    pass  # Nobody stops it.
                case LookBeside() | StopLooking():
                    pass  # A line is whole or it is not: they would see no more than renewals do.
                case Wait(until):
                    self._now, told = until, Waited()
        return told

    def _ask_api(self, request: ReadLease | PlaceLease | RenewLease) -> LeaseNews:
        line = Line(heard=True, hears=True) if self._now <= 0 else self._line
        answer = self._serve(request) if line.heard else _UNHEARD
        if line.heard and line.hears:
            return answer
        self._now = request.deadline
        return _UNHEARD

    def _serve(self, request: ReadLease | PlaceLease | RenewLease) -> LeaseNews:
        lease = self.lease
        match request:
            case ReadLease():
                return Missing() if lease is None else Found(lease)
            case PlaceLease(report):
                return self._store(AgentLease(uid="l", version="0", proposal=self._proposal), report)
            case RenewLease(known, report):
                if lease is None or lease.version != known.version:
                    return Outdated()
                return self._store(lease, report)

    def _store(self, lease: AgentLease, report: AgentReport) -> Found:
        self.life.reports.append((self._now, report))
        self._lease = replace(lease, version=str(int(lease.version) + 1), report=report)
        return Found(self._lease)

    @property
    def lease(self) -> AgentLease | None:
        """As it stands: the marker is written at the cut, after all that was acknowledged before it."""
        if self._lease is not None and self._marker is not None and self._now > 0:
            version = f"{self._lease.version}0" if self._lease.marker is None else self._lease.version
            self._lease = replace(self._lease, marker=self._marker, version=version)
        return self._lease

    def _ask_peers(self, asked: AskPeers) -> Event | None:
        lease = self.lease
        if lease is None:
            raise ValueError("a node has peers only after its Lease was placed")
        for peer in asked.peers:
            said = self._say(peer.name, self._now, lease)
            if said is Answer.SILENT:
                continue
            commands = self._watch.step(PeerSaid(asked.round, peer.name, said), self._now, self._now)
            if commands:
                return self._perform(commands)
        self._now = asked.deadline
        return RoundOver(asked.round)
