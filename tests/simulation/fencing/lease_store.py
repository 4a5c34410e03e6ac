"""The API server, as far as a fence needs it: one Lease a node, written by compare-and-swap."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from nodemend.agent.self_watch_steps import PlaceLease, ReadLease, RenewLease
from nodemend.api.agent_lease import PeerProposal
from nodemend.kube.agent_lease import AgentLease, Found, LeaseNews, Missing, Outdated
from tests.simulation.fencing.network import API, Network
from tests.simulation.fencing.time_line import Process

T = TypeVar("T")


@dataclass(slots=True)
class LeaseStore:
    """Everything here happens at one instant of true time: a linearizable store."""

    network: Network
    leases: dict[str, AgentLease] = field(default_factory=dict)
    version: int = 0
    down: bool = False

    def ask(
        self, who: str, what: Callable[[], T], hear: Callable[[T], None], reader: Process | None = None
    ) -> None:
        """A request and its reply, either of which may be lost. The reader hears it when it can."""

        def arrive() -> None:
            if not self.down:
                self.network.send(API, who, partial(hear, what()), reader)

        self.network.send(who, API, arrive)

    def serve(self, node: str, request: ReadLease | PlaceLease | RenewLease) -> LeaseNews:
        """Of an agent, for its own Lease."""
        found = self.leases.get(node)
        match request:
            case ReadLease():
                return Missing() if found is None else Found(found)
            case PlaceLease(report):
                if found is not None:
                    return Outdated()
                new = AgentLease(uid=f"lease-{node}", version=self._next(), report=report)
                return self._store(node, new)
            case RenewLease(known, report):
                if found is None:
                    return Missing()
                return self._swap(node, known, report=report)

    def read(self, node: str) -> AgentLease | None:
        return self.leases.get(node)

    def propose(self, node: str, known: AgentLease, proposal: PeerProposal) -> LeaseNews:
        return self._swap(node, known, proposal=proposal)

    def _swap(self, node: str, known: AgentLease, **changes: object) -> LeaseNews:
        found = self.leases[node]
        if found.version != known.version:
            return Outdated()
        return self._store(node, replace(found, version=self._next(), **changes))  # type: ignore[arg-type]

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    def _store(self, node: str, lease: AgentLease) -> LeaseNews:
        self.leases[node] = lease
        return Found(lease)
