"""The network: every link has one direction, and may be cut, slow or lossy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.simulation.self_fencing.time_line import Process, TimeLine

API: Final = "api"


@dataclass(slots=True)
class Network:
    line: TimeLine
    chance: Random
    cut: set[tuple[str, str]] = field(default_factory=set)
    loss: float = 0.0
    delays: tuple[float, float] = (0.002, 0.032)
    slow: float = 0.0
    """Share of messages with a long delay."""
    sending: Callable[[str, str], None] = lambda _sender, _receiver: None
    """Called before each message is sent."""

    def links_of(self, party: str, parties: list[str]) -> set[tuple[str, str]]:
        """Return all links from and to this party."""
        others = [one for one in parties if one != party]
        return {(party, one) for one in others} | {(one, party) for one in others}

    def send(
        self,
        sender: str,
        receiver: str,
        arrive: Callable[[], None],
        reader: Process | None = None,
        late: float = 0.0,
    ) -> None:
        """Send a message. One in flight arrives although its link is cut; a paused reader reads it later."""
        self.sending(sender, receiver)
        chance = self.chance.random
        if (self.cut and (sender, receiver) in self.cut) or chance() < self.loss:
            return
        least, most = self.delays
        delay = least + (most - least) * chance() + late
        if chance() < self.slow:
            delay += 12.0 * chance()
        self.line.at(self.line.now + delay, arrive, reader)
