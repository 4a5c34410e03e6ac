"""A separate API server between one replica and the shared store. It may lag or return errors.

Consistent reads (without a resourceVersion) return the current state, as on a real server. Reads with a
version, and watches, use a cache that may lag.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

import msgspec

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.world import Account
from simulation.network import DRY_RUN, Fate, ServedWatch
from simulation.scheduler import Scheduler
from tests.simulation.hostile.kinds import Counts, Kind

LATE: Final = 2.0
"""Seconds. Every watch may lag by less than this."""


class Past:
    """The revisions of the store by time."""

    def __init__(self, server: SimulatedApiServer, scheduler: Scheduler) -> None:
        self._server = server
        self._scheduler = scheduler
        self._times: list[float] = []
        self._revisions: list[int] = []
        self._note()

    def revision(self, ago: float) -> int:
        """Return the revision `ago` seconds ago, but never from before a compaction or a restore."""
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

    def __init__(self, account: Account, past: Past, counts: Counts, faults: dict[Fate, int]) -> None:
        self.lag = 0.0
        """Lag of its cache in seconds."""
        self.away = False
        """True if no API server runs: every request is refused, and watches have ended."""
        self.ill: Callable[[Request], ApiResponse | None] | None = None
        """Brown-out: returns an error as the answer, or None.

        The request may be executed despite the error.
        """
        self.requests = 0
        self.before: list[Callable[[Request], None]] = []
        """Called with every request before it is served."""
        self.heard: list[Callable[[Request, ApiResponse], None]] = []
        """Called with every request that was served, and its answer."""
        self._account = account
        self._past = past
        self._counts = counts
        self._faults = faults
        self._watches: list[LateWatch] = []
        self._pending: set[Kind] = set()

    def begin(self, kind: Kind) -> None:
        """Start a fault of this endpoint. It counts when it first takes effect."""
        self._counts.made[kind] += 1
        self._pending.add(kind)

    def take_effect(self, kind: Kind) -> None:
        if kind in self._pending:
            self._pending.discard(kind)
            self._counts.take_effect(kind)

    def handle(self, request: Request) -> ApiResponse:
        self.requests += 1
        if self.away:
            self.take_effect(Kind.OUTAGES)
            return refusal(503, "ServiceUnavailable", "no API server is there")
        if self.ill is not None and (said := self.ill(request)):
            self.take_effect(Kind.OUTAGES)
            return said
        answer = self._behind(request) or self._serve(request)
        self._counts.read(answer.body)
        if answer.status == 403 and DRY_RUN not in request.query:
            self.take_effect(Kind.RIGHTS)
        for tell in self.heard:
            tell(request, answer)
        return answer

    def do_unseen(self, request: Request) -> None:
        """Execute a request whose sender receives an error."""
        self._serve(request)
        self._faults[Fate.REPLY_LOST] = self._faults.get(Fate.REPLY_LOST, 0) + 1

    def _serve(self, request: Request) -> ApiResponse:
        for tell in self.before:
            tell(request)
        return self._account.handle(request)

    def _behind(self, request: Request) -> ApiResponse | None:
        """Answer a read from the lagging cache, or return None if the cache does not apply."""
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

    def watch(self, request: Request) -> "LateWatch | ApiResponse":
        self.requests += 1
        if self.away:
            self.take_effect(Kind.OUTAGES)
            return refusal(503, "ServiceUnavailable", "no API server is there")
        served = self._account.watch(request)
        if isinstance(served, ApiResponse):
            self.take_effect(Kind.RIGHTS)
            return served
        self._watches = [one for one in self._watches if one.ended is None]
        late = LateWatch(served, self, self._past._scheduler, self._counts)
        self._watches.append(late)
        return late

    def break_watches(self, why: str) -> None:
        for watch in self._watches:
            watch.break_off(why)
        self._watches.clear()


class LateWatch:
    """A watch whose lines are delayed by the lag of the cache, in order."""

    def __init__(self, served: ServedWatch, endpoint: Between, scheduler: Scheduler, counts: Counts) -> None:
        self._served = served
        self._endpoint = endpoint
        self._scheduler = scheduler
        self._counts = counts
        self._waiting: deque[tuple[float, float, int, list[bytes]]] = deque()
        """Due time and arrival time of the lines, the number of requests at the arrival, and the lines."""
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
        """Count the fault if a change was late and the replica sent a request before it received it."""
        reported = any(b'"type":"BOOKMARK"' not in line for line in lines)
        if held_for >= LATE and reported and self._endpoint.requests > requests:
            self._endpoint.take_effect(Kind.STALE)
        for line in lines:
            self._counts.read(line)

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


def refusal(status: int, reason: str, message: str) -> ApiResponse:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status}
    return ApiResponse(status, msgspec.json.encode({**body, "reason": reason, "message": message}))


def brown_out(endpoint: Between, chance: Random, share: float) -> Callable[[Request], ApiResponse | None]:
    """Answer this share of requests with a server error; half of the writes are executed nevertheless."""

    def evaluate(request: Request) -> ApiResponse | None:
        if chance.random() >= share:
            return None
        if request.writes and chance.random() < 0.5:
            endpoint.do_unseen(request)
            return refusal(504, "Timeout", "Timeout: request did not complete within the allotted timeout")
        if chance.random() < 0.5:
            return refusal(429, "TooManyRequests", "the server has received too many requests")
        return refusal(500, "InternalError", "etcdserver: request timed out")

    return evaluate
