"""The log of a node's life, in order."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from nodemend.agent.heartbeat import (
    AskPeers,
    CreateLease,
    Heartbeat,
    HeartbeatEvent,
    HeartbeatStarted,
    PeerAnswered,
    ReadLease,
    RenewLease,
    RoundEnded,
    WaitEnded,
    WaitUntil,
)
from nodemend.agent.heartbeat_loop import HeartbeatLog
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState
from nodemend.api.agent import AgentReport, Marker, PeerEntry, WatchdogReport
from nodemend.kube.outcome import LeaseFailed, LeaseFound
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import AgentLease
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream

HARDWARE = WatchdogReport(class_="hardware", driver="iTCO_wdt", effective=10.0)
PEERS = tuple(PeerEntry(name=name, address=f"{name}:1") for name in ("a", "b", "c", "d"))
DOWN = LeaseFailed("no answer by the deadline")


class Lines:
    """The lines of a log, without their times."""

    def __init__(self) -> None:
        self._written = io.StringIO()
        self.log = Log(
            LogStream(self._written), LogForm.JSON, LogLevel.DEBUG, fixed={}, wall=lambda: datetime.now(UTC)
        )

    @property
    def said(self) -> list[str]:
        return [_spell(**json.loads(line)) for line in self._written.getvalue().splitlines()]


def _spell(time: str, level: str, event: str, **fields: object) -> str:
    return f"{level}: {event}{''.join(f' {name}={value}' for name, value in fields.items())}"


class Life:
    """The state machine, with an API server and peers whose answers the test sets."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.log = HeartbeatLog(self.lines.log)
        who = AgentIdentity(node_uid="u", boot_id="boot-1", watchdog=HARDWARE)
        self.watch = Heartbeat(
            who, AgentState(active_terms=ActiveTerms(peers=PEERS), fresh=False), chance=0.0
        )
        self.now = 100.0
        self.reachable = True
        self.marker: Marker | None = None
        self.peers_say: Callable[[str], PeerReply] = lambda _: PeerReply.SILENT
        self.event: HeartbeatEvent | None = HeartbeatStarted()

    def live(self, seconds: float) -> list[str]:
        """Run for this time, and return the new log lines."""
        before, end = len(self.lines.said), self.now + seconds
        while self.event is not None and self.now < end:
            commands = self.watch.step(self.event, self.now, self.now)
            self.log.stepped(self.event, commands, self.watch.memory, self.now)
            self.event = self._answer(commands[-1]) if commands else None
        return self.lines.said[before:]

    def _answer(self, command: object) -> HeartbeatEvent | None:
        match command:
            case WaitUntil(until):
                self.now = until
                return WaitEnded()
            case ReadLease(deadline) if not self.reachable:
                self.now = deadline
                return DOWN
            case CreateLease(_, deadline) | RenewLease(_, _, deadline) if not self.reachable:
                self.now = deadline
                return DOWN
            case ReadLease():
                return LeaseFound(self._lease(None))
            case CreateLease(report) | RenewLease(_, report):
                return LeaseFound(self._lease(report))
            case AskPeers():
                return self._ask(command)
            case _:
                return None

    def _ask(self, asked: AskPeers) -> HeartbeatEvent:
        for peer in asked.peers:
            event = PeerAnswered(asked.round, peer.name, self.peers_say(peer.name))
            commands = self.watch.step(event, self.now, self.now)
            self.log.stepped(event, commands, self.watch.memory, self.now)
            if commands:
                found = self._answer(commands[-1])
                assert found is not None
                return found
        self.now = asked.deadline
        return RoundEnded(asked.round)

    def _lease(self, report: AgentReport | None) -> AgentLease:
        return AgentLease(uid="l", version="1", report=report, marker=self.marker)


@pytest.mark.slow
def test_a_healthy_day_logs_three_lines() -> None:
    life = Life()

    knows, ends, peers = life.live(86400.0)
    assert knows == "info: the API server knows this boot boot_id=boot-1 boot_gate=False"
    assert ends.startswith(
        "info: this node resets itself if neither the API server nor its peers renew its feed lease"
        " watchdog=hardware"
    )
    assert peers == "info: peers to ask count=4 names=a, b, c, d"


def test_a_short_api_outage_is_not_logged() -> None:
    life = Life()
    life.live(60.0)
    life.reachable = False
    assert life.live(8.0) == []
    life.reachable = True
    assert life.live(3600.0) == []


def test_an_outage_is_logged_once_with_the_peers_answers_and_its_end() -> None:
    life = Life()
    life.live(60.0)
    life.reachable, life.peers_say = False, lambda _: PeerReply.HEALTHY
    said = life.live(600.0)
    assert [line.partition(" fed_for")[0] for line in said] == [
        "warning: the API server is not reached why=no answer by the deadline",
        "warning: peers were asked",
    ]
    assert said[1].endswith("asked=4 healthy=1")

    life.reachable = True
    [again] = life.live(600.0)
    assert again.startswith("info: the API server is reached again after_seconds=")


def test_changed_peer_answers_are_logged() -> None:
    life = Life()
    life.live(60.0)
    life.reachable = False
    assert life.live(60.0)[1].endswith("asked=4 silent=4")
    life.peers_say = lambda name: PeerReply.API_OUT_OF_REACH if name in "abc" else PeerReply.SILENT
    [said] = life.live(60.0)
    assert "asked=4 api_out_of_reach=3" in said


def test_an_unusable_watchdog_is_logged_with_the_reason() -> None:
    life = Life()
    life.live(60.0)
    life.watch.learn(WatchdogReport(class_="unsupported", why="a virtual machine"), None)

    assert life.live(60.0) == ["warning: no release can rest on this node's watchdog why=a virtual machine"]


def test_the_end_of_a_boot_is_logged() -> None:
    life = Life()
    life.live(60.0)
    life.marker = Marker(node_uid="u", boot_id="boot-1", remediation_uid="r")

    assert life.live(60.0) == [
        "error: this boot must end: its watchdog is never fed again why=a marker is on its Lease"
    ]
