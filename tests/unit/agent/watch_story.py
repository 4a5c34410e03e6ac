"""A scenario for the agent's state machine, one event after the other."""

from dataclasses import replace

from nodemend.agent.heartbeat import (
    FeedUntil,
    Heartbeat,
    HeartbeatCommand,
    HeartbeatEvent,
    HeartbeatStarted,
    Remember,
    RenewLease,
    StartParallelRead,
    StopParallelReads,
    WaitEnded,
)
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState
from nodemend.api.agent import AgentReport, Marker, PeerEntry, PeerProposal, WatchdogReport
from nodemend.kube.outcome import LeaseFailed, LeaseFound
from nodemend.protocol.timing import begin
from nodemend.records.agent_lease import AgentLease

ME = AgentIdentity(
    node_uid="uid-1", boot_id="boot-1", watchdog=WatchdogReport(class_="hardware", effective=10.0)
)
PEERS = tuple(PeerEntry(name=name, address=f"{name}:9443") for name in ("a", "b", "c", "d"))
DOWN = LeaseFailed("no answer in time")


class Story:
    """An agent and its clock. Each step returns the agent's commands, except those to remember state.

    `looking` is set while it runs API checks beside renewals.
    """

    def __init__(
        self, memory: AgentState | None = None, longest_lease: float | None = None, *, boot_gate: bool = False
    ) -> None:
        who = replace(ME, longest_lease=longest_lease, boot_gate=boot_gate)
        self.watch = Heartbeat(who, memory, chance=0.0)
        self.now = 100.0
        self.remembered = memory
        self.fed_until = 0.0
        self.looking: StartParallelRead | None = None

    def meets(self, event: HeartbeatEvent, *, after: float = 0.0) -> list[HeartbeatCommand]:
        self.now += after
        asked: list[HeartbeatCommand] = []
        for command in self.watch.step(event, self.now, self.now):
            match command:
                case Remember(memory):
                    self.remembered = memory
                case StartParallelRead():
                    self.looking = command
                case StopParallelReads():
                    self.looking = None
                case FeedUntil(until):
                    self.fed_until = until
                    asked.append(command)
                case _:
                    asked.append(command)
        return asked

    def begins(self) -> None:
        """Start with an existing Lease."""
        self.meets(HeartbeatStarted())
        self.meets(LeaseFound(a_lease("6")))
        self.meets(LeaseFound(a_lease("7")), after=0.5)

    def renewed(self, *, after: float = 5.0, proposal: PeerProposal | None = None) -> AgentReport:
        """One more successful renewal."""
        renewal = self.meets(WaitEnded(), after=after)[-1]
        assert isinstance(renewal, RenewLease)
        self.meets(LeaseFound(a_lease("7", renewal.report, proposal=proposal)), after=0.5)
        return renewal.report


def a_lease(
    version: str, report: AgentReport | None = None, *, marker: Marker | None = None, **more: object
) -> AgentLease:
    return AgentLease(uid="lease-1", version=version, report=report, marker=marker, **more)  # type: ignore[arg-type]


def marked(boot_id: str = "boot-1") -> AgentLease:
    return a_lease("9", marker=Marker(node_uid="uid-1", boot_id=boot_id, remediation_uid="r-1"))


def settled(peers: tuple[PeerEntry, ...] = PEERS, *, chance: float | None = None) -> Story:
    """An agent that has run for a while, with these peers in use."""
    memory = AgentState(
        active_terms=ActiveTerms(peers=peers), number=40, contact=begin(40, 99.0, 15.0), fresh=False
    )
    story = Story(memory)
    if chance is not None:
        story.watch = Heartbeat(ME, memory, chance=chance, healthy_wanted=2)
    story.begins()
    return story


def silenced(peers: tuple[PeerEntry, ...] = PEERS, *, chance: float | None = None) -> Story:
    """Three renewals have failed, and the agent now asks its peers."""
    story = settled(peers, chance=chance)
    story.meets(WaitEnded(), after=5.0)
    story.meets(DOWN, after=3.0)
    story.meets(WaitEnded(), after=1.0)
    story.meets(DOWN, after=3.0)
    story.meets(WaitEnded(), after=1.0)
    return story


# The Lease.
