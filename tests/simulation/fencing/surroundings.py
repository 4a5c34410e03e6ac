"""What nodes share: time, links, the store, and what is counted and told."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.fencing.lease_store import LeaseStore
from tests.simulation.fencing.network import Network
from tests.simulation.fencing.time_line import TimeLine

if TYPE_CHECKING:
    from tests.simulation.fencing.node import Node


class BrokenError(AssertionError):
    """An invariant does not hold."""


@dataclass(slots=True)
class Surroundings:
    line: TimeLine
    network: Network
    store: LeaseStore
    chance: Random
    clock_error: float = 0.01
    watchdog_error: float = 0.02
    lease_length: float = 35.0
    """What feeders believe, at most."""
    ride_through: float = 0.0
    liars: int = 0
    """How many peers may lie; nodes are set to bear so many."""
    hiccups: float = 0.0
    """How often a process is paused between deciding something and doing it."""
    nodes: "dict[str, Node]" = field(default_factory=dict)
    uncertified: set[str] = field(default_factory=set)
    """Nodes whom no peer believes."""
    held_back: set[str] = field(default_factory=set)
    """Nodes whose next boots wait at their gates for a person."""
    marked_boots: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] | None = None

    def tell(self, what: str) -> None:
        if self.lines is not None:
            self.lines.append(f"{self.line.now:9.3f}  {what}")
