"""Shared state of nodes: time, links, store, counters and log."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.self_fencing.lease_store import LeaseStore
from tests.simulation.self_fencing.network import Network
from tests.simulation.self_fencing.time_line import TimeLine

if TYPE_CHECKING:
    from tests.simulation.self_fencing.node import Node


class BrokenError(AssertionError):
    """An invariant does not hold."""


@dataclass(slots=True)
class FencingCluster:
    line: TimeLine
    network: Network
    store: LeaseStore
    chance: Random
    clock_error: float = 0.01
    watchdog_error: float = 0.02
    lease_length: float = 35.0
    """Longest lease in seconds that feeders accept."""
    ride_through: float = 0.0
    byzantine_peers: int = 0
    """Number of Byzantine peers that the nodes' settings tolerate."""
    hiccups: float = 0.0
    """Probability of a pause between a decision and its action."""
    nodes: "dict[str, Node]" = field(default_factory=dict)
    uncertified: set[str] = field(default_factory=set)
    """Nodes whose certificate no peer accepts."""
    held_back: set[str] = field(default_factory=set)
    """Nodes whose gates wait for an operator at their next boots."""
    marked_boots: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] | None = None

    def tell(self, what: str) -> None:
        if self.lines is not None:
            self.lines.append(f"{self.line.now:9.3f}  {what}")
