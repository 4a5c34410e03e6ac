"""Simulated links to the API server: delay, loss, resets, and requests with an unknown outcome."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final, Protocol

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.processes import SimulatedProcess

DRY_RUN: Final = ("dryRun", "All")
"""Query of a dry-run write. It changes nothing, so witnesses skip it."""


class ServedWatch(Protocol):
    """The server's end of a stream."""

    def take(self) -> list[bytes]: ...

    @property
    def ended(self) -> str | None: ...

    def subscribe(self, callback: Callable[[], None]) -> None: ...

    def close(self) -> None: ...


class Endpoint(Protocol):
    """One account's access to a server. Each call happens at one instant."""

    def handle(self, request: Request) -> ApiResponse: ...

    def watch(self, request: Request) -> ServedWatch | ApiResponse: ...


class Fate(Enum):
    """Effect of the network on one request."""

    DELIVERED = auto()
    REFUSED = auto()  # no connection: certainly not applied
    LOST = auto()  # lost before it reaches the server
    REPLY_LOST = auto()  # applied, but the answer is lost
    RESET = auto()  # applied, but the connection breaks before the answer
    LATE = auto()  # applied after the sender has given up


@dataclass(frozen=True, slots=True)
class LinkQuality:
    """Probabilities of the fates, and range of the one-way delay in true seconds."""

    delay: tuple[float, float] = (0.001, 0.02)
    refused: float = 0.0
    lost: float = 0.0
    reply_lost: float = 0.0
    reset: float = 0.0
    late: float = 0.0

    def draw(self, chance: random.Random) -> Fate:
        point = chance.random()
        fates = (
            (self.refused, Fate.REFUSED),
            (self.lost, Fate.LOST),
            (self.reply_lost, Fate.REPLY_LOST),
            (self.reset, Fate.RESET),
            (self.late, Fate.LATE),
        )
        for share, fate in fates:
            if point < share:
                return fate
            point -= share
        return Fate.DELIVERED


GOOD_LINK: Final = LinkQuality()


class CrashPoint(Enum):
    """Point of a write at which the process crashes."""

    BEFORE = auto()
    AFTER_COMMIT = auto()
    AFTER_REPLY = auto()


CrashPlan = Callable[[Request], CrashPoint | None]


def no_crash(_request: Request) -> None:
    return None


class Link:
    """The path from one process to its endpoint. `up` and `down` are its directions; each can be cut."""

    def __init__(self, process: SimulatedProcess, endpoint: Endpoint, quality: LinkQuality) -> None:
        self.process = process
        self.endpoint = endpoint
        self.quality = quality
        self.up = True
        self.down = True
        self.crash_plan: CrashPlan = no_crash
        self.faults: dict[Fate, int] = {}
        self.connection = 0
        self._chance = process.scheduler.chance(f"link of {process.name}")

    def delay(self) -> float:
        return self._chance.uniform(*self.quality.delay)

    def late_by(self) -> float:
        return self._chance.uniform(1.0, 60.0)

    def draw(self) -> Fate:
        fate = self.quality.draw(self._chance)
        if fate is not Fate.DELIVERED:
            self.faults[fate] = self.faults.get(fate, 0) + 1
        return fate

    def cut(self, *, up: bool = True, down: bool = True) -> None:
        self.up, self.down = self.up and not up, self.down and not down

    def heal(self) -> None:
        self.up = self.down = True

    def drop_requests(self) -> None:
        """Drop requests in flight, as the end of the API server that receives them does."""
        self.connection += 1


def worse(quality: LinkQuality, by: float) -> LinkQuality:
    """Return the link with the probability `by` for faults (`by / 2` for lost and late requests)."""
    return replace(quality, refused=by, lost=by / 2, reply_lost=by, reset=by, late=by / 2)
