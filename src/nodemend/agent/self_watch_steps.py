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
class LookBeside:
    """Read the Lease every so many seconds, with chance in it, beside all that follows, until StopLooking.

    Each read ends `within` seconds of its own sending, and its answer is told by `Looked` when it comes. At
    most `most` are under way at once.
    """

    every: float
    within: float
    most: int


@dataclass(frozen=True, slots=True)
class StopLooking:
    """No more reads are begun. Those under way are still told of."""


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


AtOnce = LookBeside | StopLooking | FeedUntil | Condemn | StandDown | StandUp | Remember
Command = ReadLease | PlaceLease | RenewLease | AskPeers | Wait | AtOnce

# What is told.


@dataclass(frozen=True, slots=True)
class Begun:
    """First of all."""


@dataclass(frozen=True, slots=True)
class Waited:
    pass


@dataclass(frozen=True, slots=True)
class Looked:
    """One of the looks beside has ended. It was sent at `asked_at`, or later.

    Told at any time. What the machine asks for then is done at once, and nothing is waited for by it.
    """

    news: LeaseNews
    asked_at: float


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


Event = Begun | LeaseNews | Waited | StopAsked | PeerSaid | RoundOver | Looked
