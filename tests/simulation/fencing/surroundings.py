"""What nodes and managers share: time, links, the store, and what is counted and told."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import TYPE_CHECKING, Final

from nodemend.api.agent_lease import AgentReport
from nodemend.decide.release_gate import ReleaseTicket
from tests.simulation.fencing.kube_nodes import KubeNodes
from tests.simulation.fencing.lease_store import LeaseStore
from tests.simulation.fencing.network import API, Network
from tests.simulation.fencing.time_line import TimeLine

if TYPE_CHECKING:
    from tests.simulation.fencing.node import Node


LOST_TRACK: Final = 100.0
"""Seconds after which everybody who is up is steady again: agents come a while after the gate has opened."""
IN_TIME: Final = 30.0
"""Seconds beyond the safe time: for looks that are seconds apart, and renewals that have to be seen."""


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
    """How many peers may lie; nodes and managers are set to bear so many."""
    hiccups: float = 0.0
    """How often a process is paused between deciding something and doing it."""
    nodes: "dict[str, Node]" = field(default_factory=dict)
    kube: KubeNodes = field(default_factory=KubeNodes)
    bound: set[str] = field(default_factory=set)
    """The nodes that hold the reservation of their workload."""
    left_out: set[str] = field(default_factory=set)
    """Nodes that managers propose to nobody as a peer."""
    uncertified: set[str] = field(default_factory=set)
    """Nodes whom no peer believes."""
    held_back: set[str] = field(default_factory=set)
    """Nodes whose next boots wait at their gates for a person."""
    ambushed: set[str] = field(default_factory=set)
    """Nodes that are cut off from everybody at the very moment in which they are marked."""
    marked_at: dict[str, float] = field(default_factory=dict)
    quiet_since: float = inf
    """From then on nothing goes wrong any more, but for what went wrong before."""
    marked_boots: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] | None = None

    def is_bound(self, node: str) -> bool:
        return node in self.bound

    def tell(self, what: str) -> None:
        if self.lines is not None:
            self.lines.append(f"{self.line.now:9.3f}  {what}")

    def mark(self, node: str, boot_id: str) -> None:
        self.tell(f"{node} is marked in {boot_id}")
        self.counts["marked"] += 1
        lease = self.store.read(node)
        if lease is not None and isinstance(lease.report, AgentReport) and lease.report.held_back:
            self.counts["marked while its gate holds it back"] += 1
        self.marked_boots.add(boot_id)
        self.marked_at[node] = self.line.now
        if node in self.ambushed:
            self.ambushed.discard(node)
            links = self.network.links_of(node, [API, *self.nodes])
            cut = self.network.cut
            cut |= links
            self.line.after(100.0, lambda: cut.difference_update(links))

    def proven_over(self, node: str, boot_id: str) -> None:
        """I2: what time has proven is so."""
        self.tell(f"{boot_id} of {node} is proven to be over")
        if self.nodes[node].up and self.nodes[node].boot_id == boot_id:
            raise BrokenError(f"I2: {boot_id} was proven to be over while it ran")

    def taint(self, ticket: ReleaseTicket, safe_time: float) -> None:
        """On the version of the Node that the ticket names."""
        if self.kube.swap(ticket.node, ticket.node_version, tainted_at=self.line.now):
            self.release(ticket.node, ticket.evidence.class_, safe_time)

    def release(self, node: str, evidence: str, safe_time: float) -> None:
        """Its workload may start elsewhere from now on. I1: nothing of it runs here any more.

        I13: where all was quiet since the node was marked, and it had peers, that came in time.
        """
        took = self.line.now - self.marked_at[node]
        lease = self.store.read(node)
        lists = lease.report.peers if lease and isinstance(lease.report, AgentReport) else ()
        if self.quiet_since < self.marked_at[node] - LOST_TRACK and all(lists) and took > safe_time + IN_TIME:
            raise BrokenError(f"I13: {node} was released by {evidence} {took:.0f} s after it was marked")
        self.tell(f"{node} is released by {evidence}")
        self.counts[f"release by {evidence}"] += 1
        self.bound.discard(node)
        if self.nodes[node].workload:
            raise BrokenError(f"I1: {node} was released by {evidence} while its workload ran")
