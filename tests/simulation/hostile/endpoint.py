"""What stands between one replica and the API server: an API server of its own, which may be behind or ill.

Consistent reads (without a resourceVersion) are answered from the present state, as the real server's are.
Reads that name a version, and watches, come from a cache that may be behind.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

import msgspec

from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.cluster.world import Account
from nodemend.testing.network import DRY_RUN, Fate, ServedWatch
from nodemend.testing.scheduler import Scheduler
from tests.simulation.hostile.kinds import Kind, Tally

LATE: Final = 2.0
"""Seconds. By less than that every watch may be late."""


class Past:
    """At which revision the store was when."""

    def __init__(self, server: SimulatedApiServer, scheduler: Scheduler) -> None:
        self._server = server
        self._scheduler = scheduler
        self._times: list[float] = []
        self._revisions: list[int] = []
        self._note()

    def revision(self, ago: float) -> int:
        """Never from before a compaction, nor from before a restore."""
        index = bisect_right(self._times, self._scheduler.now - ago) - 1
        then = self._revisions[max(0, index)]
        storage = self._server._storage
        return min(max(then, storage.compacted), storage.revision)

    def _note(self) -> None:
        self._times.append(self._scheduler.now)
        self._revisions.append(self._server.revision)
        self._scheduler.after(1.0, self._note)


class Between:
    """One replica's endpoint."""

    def __init__(self, account: Account, past: Past, tally: Tally, faults: dict[Fate, int]) -> None:
        self.lag = 0.0
        """Seconds by which its cache is behind."""
        self.away = False
        """Nobody serves: every request is refused, and watches have ended."""
        self.ill: Callable[[Request], Answer | None] | None = None
        """Of a brown-out: what a request is answered with instead. It is done nevertheless, or not."""
        self.requests = 0
        self.before: list[Callable[[Request], None]] = []
        """Told of every request before it is served."""
        self.heard: list[Callable[[Request, Answer], None]] = []
        """Told of every request that was served, with its answer."""
        self._account = account
        self._past = past
        self._tally = tally
        self._faults = faults
        self._watches: list[LateWatch] = []
        self._pending: set[Kind] = set()

    def begin(self, kind: Kind) -> None:
        """A fault of this endpoint begins, which counts when it first takes effect."""
        self._tally.made[kind] += 1
        self._pending.add(kind)

    def take_effect(self, kind: Kind) -> None:
        if kind in self._pending:
            self._pending.discard(kind)
            self._tally.take_effect(kind)

    def handle(self, request: Request) -> Answer:
        self.requests += 1
        if self.away:
            self.take_effect(Kind.OUTAGES)
            return refusal(503, "ServiceUnavailable", "no API server is there")
        if self.ill is not None and (said := self.ill(request)):
            self.take_effect(Kind.OUTAGES)
            return said
        answer = self._behind(request) or self._serve(request)
        self._tally.read(answer.body)
        if answer.status == 403 and DRY_RUN not in request.query:
            self.take_effect(Kind.RIGHTS)
        for tell in self.heard:
            tell(request, answer)
        return answer

    def do_unseen(self, request: Request) -> None:
        """It comes to pass, and its sender is told otherwise."""
        self._serve(request)
        self._faults[Fate.REPLY_LOST] = self._faults.get(Fate.REPLY_LOST, 0) + 1

    def _serve(self, request: Request) -> Answer:
        for tell in self.before:
            tell(request)
        return self._account.handle(request)

    def _behind(self, request: Request) -> Answer | None:
        """A read that may be answered from a cache, where that is behind."""
        query = dict(request.query)
        if request.writes or self.lag < LATE or not query.get("resourceVersion"):
            return None
        server, then = self._account._server, self._past.revision(self.lag)
        if then >= server.revision:
            return None
        call = server._call(request, self._account.user)
        self.take_effect(Kind.STALE)
        if call.route.name:
            row = call.table.row_at(call.route.key, then)
            return call.backend.answer(200, row.body) if row else None
        exact = {**query, "resourceVersion": str(then), "resourceVersionMatch": "Exact"}
        return self._account.handle(replace(request, query=tuple(exact.items())))

    def watch(self, request: Request) -> "LateWatch | Answer":
        self.requests += 1
        if self.away:
            self.take_effect(Kind.OUTAGES)
            return refusal(503, "ServiceUnavailable", "no API server is there")
        served = self._account.watch(request)
        if isinstance(served, Answer):
            self.take_effect(Kind.RIGHTS)
            return served
        self._watches = [one for one in self._watches if one.ended is None]
        late = LateWatch(served, self, self._past._scheduler, self._tally)
        self._watches.append(late)
        return late

    def break_watches(self, why: str) -> None:
        for watch in self._watches:
            watch.break_off(why)
        self._watches.clear()


class LateWatch:
    """A watch whose lines come as late as the cache is behind, in their order."""

    def __init__(self, served: ServedWatch, endpoint: Between, scheduler: Scheduler, tally: Tally) -> None:
        self._served = served
        self._endpoint = endpoint
        self._scheduler = scheduler
        self._tally = tally
        self._waiting: deque[tuple[float, float, int, list[bytes]]] = deque()
        """When the lines are due and when they were, how many requests there had been, and the lines."""
        self._callback: Callable[[], None] = lambda: None
        self._broken: str | None = None

    @property
    def ended(self) -> str | None:
        return self._broken or (None if self._waiting else self._served.ended)

    def take(self) -> list[bytes]:
        now = self._scheduler.now
        if lines := self._served.take():
            last = self._waiting[-1][0] if self._waiting else now
            due = max(last, now + self._endpoint.lag)
            self._waiting.append((due, now, self._endpoint.requests, lines))
            if due > now:
                self._scheduler.at(due, self._callback)
        ready: list[bytes] = []
        while self._waiting and self._waiting[0][0] <= now:
            _, since, requests, lines = self._waiting.popleft()
            ready += lines
            self._count(now - since, requests, lines)
        return ready

    def _count(self, held_for: float, requests: int, lines: list[bytes]) -> None:
        """A change that came late, and the replica asked or wrote something while it did not know of it."""
        told = any(b'"type":"BOOKMARK"' not in line for line in lines)
        if held_for >= LATE and told and self._endpoint.requests > requests:
            self._endpoint.take_effect(Kind.STALE)
        for line in lines:
            self._tally.read(line)

    def subscribe(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._served.subscribe(callback)

    def close(self) -> None:
        self._served.close()
        self._callback = lambda: None

    def break_off(self, why: str) -> None:
        self._served.close()
        self._waiting.clear()
        self._broken = self._broken or why
        self._callback()


def refusal(status: int, reason: str, message: str) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status}
    return Answer(status, msgspec.json.encode({**body, "reason": reason, "message": message}))


def brown_out(endpoint: Between, chance: Random, share: float) -> Callable[[Request], Answer | None]:
    """So many requests are answered with an error of the server; half of the writes are done all the same."""

    def judge(request: Request) -> Answer | None:
        if chance.random() >= share:
            return None
        if request.writes and chance.random() < 0.5:
            endpoint.do_unseen(request)
            return refusal(504, "Timeout", "Timeout: request did not complete within the allotted timeout")
        if chance.random() < 0.5:
            return refusal(429, "TooManyRequests", "the server has received too many requests")
        return refusal(500, "InternalError", "etcdserver: request timed out")

    return judge
