"""The agents' Leases in the simulated API server, with the interface of the simulated nodes' store."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TypeVar

from nodemend.agent.heartbeat import CreateLease, ReadLease, RenewLease
from nodemend.kube.outcome import LeaseFound
from nodemend.kube.request import Request
from nodemend.records.agent_lease import (
    AgentLease,
    AgentLeaseResult,
    ask_lease,
    place_lease,
    renew_lease,
    understand,
)
from simulation.cluster.world import Account
from simulation.scheduler import Scheduler
from tests.simulation.self_fencing.lease_store import LeaseStore
from tests.simulation.self_fencing.network import API
from tests.simulation.self_fencing.time_line import Process

T = TypeVar("T")


class SentRequest(Enum):
    """Kinds of requests of a node to the API server."""

    OWN_READ = auto()
    OWN_WRITE = auto()
    OTHER_READ = auto()


Answering = Callable[[str, SentRequest, bool], float | None]
"""Returns the delay of a reply in seconds, or None to lose it.

The arguments are the node, the kind of its request, and whether the request succeeded.
"""


def at_once(_who: str, _asked: SentRequest, _found: bool) -> float | None:
    return 0.0


@dataclass(slots=True, kw_only=True)
class ApiStore(LeaseStore):
    """A store that serves each request at one instant. Its reply can be late or lost."""

    account: Account
    scheduler: Scheduler
    answering: Answering = at_once
    """The adversary's choice."""
    served: Callable[[str, SentRequest, bool], None] = lambda _who, _asked, _well: None
    """Called after each request was served, before its reply is sent."""
    _last: tuple[SentRequest, str, bool] = (SentRequest.OWN_READ, "", True)
    """Kind of the last request, owner of the Lease, and True if the answer has a Lease."""

    def ask(
        self, who: str, what: Callable[[], T], hear: Callable[[T], None], reader: Process | None = None
    ) -> None:
        def arrive() -> None:
            if self.down:
                return
            found = what()
            asked, owner, well = self._last
            if owner != who:
                asked = SentRequest.OTHER_READ
            late = self.answering(who, asked, well)
            if late is not None:
                self.network.send(API, who, partial(hear, found), reader, late)
            self.served(who, asked, well)

        self.network.send(who, API, arrive)

    def serve(self, node: str, request: ReadLease | CreateLease | RenewLease) -> AgentLeaseResult:
        wall = self.scheduler.wall()
        match request:
            case ReadLease():
                return self._handle(SentRequest.OWN_READ, node, ask_lease(node))
            case CreateLease(report):
                return self._handle(SentRequest.OWN_WRITE, node, place_lease(node, report, wall))
            case RenewLease(known, report):
                return self._handle(SentRequest.OWN_WRITE, node, renew_lease(node, known, report, wall))

    def read(self, node: str) -> AgentLease | None:
        news = self._handle(SentRequest.OWN_READ, node, ask_lease(node))
        return news.lease if isinstance(news, LeaseFound) else None

    def _handle(self, asked: SentRequest, node: str, request: Request) -> AgentLeaseResult:
        answer = self.account.handle(request)
        sender = f"agent of {node}"
        self.scheduler.requests.record(self.scheduler.now, sender, request, answer.status, answer.body)
        news = understand(answer)
        self._last = (asked, node, isinstance(news, LeaseFound))
        return news
