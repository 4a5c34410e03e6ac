"""The API server as far as fencing needs it: one Lease per node, written with compare-and-swap."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from nodemend.agent.heartbeat import CreateLease, ReadLease, RenewLease
from nodemend.api.agent import PeerProposal
from nodemend.kube.outcome import LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.records.agent_lease import AgentLease, AgentLeaseResult
from tests.simulation.self_fencing.network import API, Network
from tests.simulation.self_fencing.time_line import Process

T = TypeVar("T")


@dataclass(slots=True)
class LeaseStore:
    """A linearizable store: each operation happens at one instant of true time."""

    network: Network
    leases: dict[str, AgentLease] = field(default_factory=dict)
    version: int = 0
    down: bool = False

    def ask(
        self, who: str, what: Callable[[], T], hear: Callable[[T], None], reader: Process | None = None
    ) -> None:
        """Send a request and its reply; both may be lost. A paused reader receives the reply later."""

        def arrive() -> None:
            if not self.down:
                self.network.send(API, who, partial(hear, what()), reader)

        self.network.send(who, API, arrive)

    def serve(self, node: str, request: ReadLease | CreateLease | RenewLease) -> AgentLeaseResult:
        """Serve an agent's request for its own Lease."""
        found = self.leases.get(node)
        match request:
            case ReadLease():
                return LeaseMissing() if found is None else LeaseFound(found)
            case CreateLease(report):
                if found is not None:
                    return LeaseOutdated()
                new = AgentLease(uid=f"lease-{node}", version=self._next(), report=report)
                return self._store(node, new)
            case RenewLease(known, report):
                if found is None:
                    return LeaseMissing()
                return self._swap(node, known, report=report)

    def read(self, node: str) -> AgentLease | None:
        return self.leases.get(node)

    def propose(self, node: str, known: AgentLease, proposal: PeerProposal) -> AgentLeaseResult:
        return self._swap(node, known, proposal=proposal)

    def _swap(self, node: str, known: AgentLease, **changes: object) -> AgentLeaseResult:
        found = self.leases[node]
        if found.version != known.version:
            return LeaseOutdated()
        return self._store(node, replace(found, version=self._next(), **changes))  # type: ignore[arg-type]

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    def _store(self, node: str, lease: AgentLease) -> AgentLeaseResult:
        self.leases[node] = lease
        return LeaseFound(lease)
