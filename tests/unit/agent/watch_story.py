"""A story that the agent's machine is told, one event after the other."""

from dataclasses import replace

from nodemend.agent.memory import Memory, Self
from nodemend.agent.published import Conduct
from nodemend.agent.self_watch import SelfWatch
from nodemend.agent.self_watch_steps import (
    Begun,
    Command,
    Event,
    FeedUntil,
    LookBeside,
    Remember,
    RenewLease,
    StopLooking,
    Waited,
)
from nodemend.api.agent_lease import (
    AgentReport,
    Marker,
    PeerEntry,
    PeerProposal,
    WatchdogReport,
)
from nodemend.decide.own_contact import begin
from nodemend.kube.agent_lease import AgentLease, Failed, Found

ME = Self(node_uid="uid-1", boot_id="boot-1", watchdog=WatchdogReport(class_="hardware", effective=10.0))
PEERS = tuple(PeerEntry(name=name, address=f"{name}:9443") for name in ("a", "b", "c", "d"))
DOWN = Failed("no answer in time")


class Story:
    """An agent and its clock. Each step returns what the agent asks for, but for what it only remembers.

    Whether it looks beside renewals is kept in `looking`.
    """

    def __init__(
        self, memory: Memory | None = None, longest_lease: float | None = None, *, boot_gate: bool = False
    ) -> None:
        who = replace(ME, longest_lease=longest_lease, boot_gate=boot_gate)
        self.watch = SelfWatch(who, memory, chance=0.0)
        self.now = 100.0
        self.remembered = memory
        self.fed_until = 0.0
        self.looking: LookBeside | None = None

    def meets(self, event: Event, *, after: float = 0.0) -> list[Command]:
        self.now += after
        asked: list[Command] = []
        for command in self.watch.step(event, self.now, self.now):
            match command:
                case Remember(memory):
                    self.remembered = memory
                case LookBeside():
                    self.looking = command
                case StopLooking():
                    self.looking = None
                case FeedUntil(until):
                    self.fed_until = until
                    asked.append(command)
                case _:
                    asked.append(command)
        return asked

    def begins(self) -> None:
        """With a Lease that is there already."""
        self.meets(Begun())
        self.meets(Found(a_lease("6")))
        self.meets(Found(a_lease("7")), after=0.5)

    def renewed(self, *, after: float = 5.0, proposal: PeerProposal | None = None) -> AgentReport:
        """One more renewal, as it should be."""
        renewal = self.meets(Waited(), after=after)[-1]
        assert isinstance(renewal, RenewLease)
        self.meets(Found(a_lease("7", renewal.report, proposal=proposal)), after=0.5)
        return renewal.report


def a_lease(
    version: str, report: AgentReport | None = None, *, marker: Marker | None = None, **more: object
) -> AgentLease:
    return AgentLease(uid="lease-1", version=version, report=report, marker=marker, **more)  # type: ignore[arg-type]


def marked(boot_id: str = "boot-1") -> AgentLease:
    return a_lease("9", marker=Marker(node_uid="uid-1", boot_id=boot_id, remediation_uid="r-1"))


def settled(peers: tuple[PeerEntry, ...] = PEERS, *, chance: float | None = None) -> Story:
    """An agent in the midst of its life, with these peers in use."""
    memory = Memory(conduct=Conduct(peers=peers), number=40, contact=begin(40, 99.0, 15.0), fresh=False)
    story = Story(memory)
    if chance is not None:
        story.watch = SelfWatch(ME, memory, chance=chance, healthy_wanted=2)
    story.begins()
    return story


def silenced(peers: tuple[PeerEntry, ...] = PEERS, *, chance: float | None = None) -> Story:
    """Three renewals have failed, and the fourth thing it does is to ask."""
    story = settled(peers, chance=chance)
    story.meets(Waited(), after=5.0)
    story.meets(DOWN, after=3.0)
    story.meets(Waited(), after=1.0)
    story.meets(DOWN, after=3.0)
    story.meets(Waited(), after=1.0)
    return story


# The Lease.
