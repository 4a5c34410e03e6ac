"""What an agent asks of its machine and of its peers, beside time and the API server; and who listens."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from nodemend.agent.certificate import Holding
from nodemend.agent.memory import Memory
from nodemend.agent.self_watch_steps import Command, Event
from nodemend.api.agent_lease import PeerEntry, WatchdogReport
from nodemend.decide.peer_verdict import Answer


class Keeper(Protocol):
    """Files that outlive the process, but not the boot. Each is whole or not there."""

    def feed_until(self, until: float) -> None:
        """Let the feeder go on until then."""
        ...

    def condemn(self, why: str) -> None:
        """Nothing feeds this boot again."""
        ...

    def stand_down(self) -> None:
        """Let the feeder go on without a lease."""
        ...

    def stand_up(self) -> None:
        """Let it go on by its lease alone, as before."""
        ...

    def remember(self, memory: Memory) -> None: ...


class Peers(Protocol):
    def ask(self, peers: tuple[PeerEntry, ...], deadline: float) -> AsyncGenerator[tuple[str, Answer], None]:
        """Ask all at once; tell who said what, as it comes. Ends by `deadline`, or when all have answered.

        Whoever stops listening ends the asking.
        """
        ...


@dataclass(frozen=True, slots=True)
class FeederTold:
    """What the feeder tells of itself at one moment."""

    watchdog: WatchdogReport
    longest_lease: float | None = None
    """Seconds; None where there is no feeder."""


class Feeder(Protocol):
    def told(self) -> FeederTold:
        """At once, and never raises: a feeder of which nothing is known is a report, too."""
        ...


class Certificate(Protocol):
    def look(self) -> Holding:
        """At once, and never raises: what peers would believe of this node now."""
        ...


class Listener(Protocol):
    def stepped(self, event: Event, commands: tuple[Command, ...], memory: Memory, now: float) -> None:
        """The agent's machine was told `event` and asks for `commands`; `memory` is what it knows by then."""
        ...
