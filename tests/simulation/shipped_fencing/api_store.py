"""The agents' Leases in the simulated API server, as the simulated nodes ask for them."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TypeVar

from nodemend.agent.self_watch_steps import PlaceLease, ReadLease, RenewLease
from nodemend.kube.agent_lease import (
    AgentLease,
    Found,
    LeaseNews,
    ask_lease,
    place_lease,
    renew_lease,
    understand,
)
from nodemend.kube.api_request import Request
from nodemend.testing.cluster.world import Account
from nodemend.testing.scheduler import Scheduler
from tests.simulation.fencing.lease_store import LeaseStore
from tests.simulation.fencing.network import API
from tests.simulation.fencing.time_line import Process

T = TypeVar("T")


class Asked(Enum):
    """What a node wanted of the API server."""

    OWN_READ = auto()
    OWN_WRITE = auto()
    OTHER_READ = auto()


Answering = Callable[[str, Asked, bool], float | None]
"""By node, by what it wanted and by whether that was answered well: seconds by which the reply is late."""


def at_once(_who: str, _asked: Asked, _found: bool) -> float | None:
    return 0.0


@dataclass(slots=True, kw_only=True)
class ApiStore(LeaseStore):
    """Each request is served at one instant, and its reply can be late or lost (None)."""

    account: Account
    scheduler: Scheduler
    answering: Answering = at_once
    """An adversary's."""
    served: Callable[[str, Asked, bool], None] = lambda _who, _asked, _well: None
    """Told after each request was served, before its reply is sent."""
    _last: tuple[Asked, str, bool] = (Asked.OWN_READ, "", True)
    """What was asked for last, of whose Lease, and whether there was one to show."""

    def ask(
        self, who: str, what: Callable[[], T], hear: Callable[[T], None], reader: Process | None = None
    ) -> None:
        def arrive() -> None:
            if self.down:
                return
            found = what()
            asked, owner, well = self._last
            if owner != who:
                asked = Asked.OTHER_READ
            late = self.answering(who, asked, well)
            if late is not None:
                self.network.send(API, who, partial(hear, found), reader, late)
            self.served(who, asked, well)

        self.network.send(who, API, arrive)

    def serve(self, node: str, request: ReadLease | PlaceLease | RenewLease) -> LeaseNews:
        wall = self.scheduler.wall()
        match request:
            case ReadLease():
                return self._handle(Asked.OWN_READ, node, ask_lease(node))
            case PlaceLease(report):
                return self._handle(Asked.OWN_WRITE, node, place_lease(node, report, wall))
            case RenewLease(known, report):
                return self._handle(Asked.OWN_WRITE, node, renew_lease(node, known, report, wall))

    def read(self, node: str) -> AgentLease | None:
        news = self._handle(Asked.OWN_READ, node, ask_lease(node))
        return news.lease if isinstance(news, Found) else None

    def _handle(self, asked: Asked, node: str, request: Request) -> LeaseNews:
        answer = self.account.handle(request)
        sender = f"agent of {node}"
        self.scheduler.requests.record(self.scheduler.now, sender, request, answer.status, answer.body)
        news = understand(answer)
        self._last = (asked, node, isinstance(news, Found))
        return news
