"""What the agent's machine is told, and what it asks to be done."""

from dataclasses import dataclass

from nodemend.agent.memory import Memory
from nodemend.api.agent_lease import AgentReport, PeerEntry
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import AgentLease, LeaseNews

# What is asked for. All times are of the node's own clock, which goes on while the machine sleeps.


@dataclass(frozen=True, slots=True)
class ReadLease:
    deadline: float


@dataclass(frozen=True, slots=True)
class PlaceLease:
    """There is none yet."""

    report: AgentReport
    deadline: float


@dataclass(frozen=True, slots=True)
class RenewLease:
    known: AgentLease
    report: AgentReport
    deadline: float


@dataclass(frozen=True, slots=True)
class AskPeers:
    """All at once. Answers are told as they come, and the end of the round at its deadline at the latest."""

    round: int
    peers: tuple[PeerEntry, ...]
    deadline: float


@dataclass(frozen=True, slots=True)
class FeedUntil:
    """The feeder may ping until then. To be written before the commands that follow are begun."""

    until: float


@dataclass(frozen=True, slots=True)
class Condemn:
    """This boot is never fed again, and should be reset at once; in a drill, when its feed lease is over."""

    why: str
    at_once: bool = True


@dataclass(frozen=True, slots=True)
class StandDown:
    """Leave the feeder a permit: it is acknowledged that nothing rests on this node's watchdog. The last."""


@dataclass(frozen=True, slots=True)
class StandUp:
    """Take the permit of an earlier agent away. To be done before the commands that follow are begun."""


@dataclass(frozen=True, slots=True)
class Remember:
    """To be kept before the commands that follow are begun: they promise what it says."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class Wait:
    until: float


Command = (
    ReadLease
    | PlaceLease
    | RenewLease
    | AskPeers
    | FeedUntil
    | Condemn
    | StandDown
    | StandUp
    | Remember
    | Wait
)

# What is told.


@dataclass(frozen=True, slots=True)
class Begun:
    """First of all."""


@dataclass(frozen=True, slots=True)
class Waited:
    pass


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The agent is told to end. What was under way is not waited for."""


@dataclass(frozen=True, slots=True)
class PeerSaid:
    round: int
    peer: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class RoundOver:
    """Everybody has answered, or the deadline has passed."""

    round: int


Event = Begun | LeaseNews | Waited | StopAsked | PeerSaid | RoundOver
