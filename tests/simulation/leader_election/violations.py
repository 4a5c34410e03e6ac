"""Observes one simulated run on the true clock and counts violations."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from nodemend.api.resources import LEASE, MANUAL_REMEDIATION
from nodemend.kube.leader_runner import Leadership
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.processes import SimulatedProcess

_LEASES = f"/{LEASE.plural}/"
_REMEDIATIONS = f"/{MANUAL_REMEDIATION.plural}/"


@dataclass(slots=True)
class Counts:
    """Counters of one run, or of many."""

    runs: int = 0
    simulated_seconds: float = 0.0
    terms: int = 0
    actions: int = 0
    foreign_actions: int = 0
    writes_committed: int = 0
    writes_refused: int = 0
    foreign_writes: int = 0
    late_writes: int = 0
    two_lead_seconds: float = 0.0
    falling_epochs: int = 0
    leaderless_ends: int = 0
    overruns: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    takeovers: list[float] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                for key, count in theirs.items():
                    mine[key] = mine.get(key, 0) + count
            else:
                setattr(self, name, mine + theirs)

    @property
    def broken(self) -> bool:
        """True if a guarantee was violated, or if no write tested it."""
        return bool(
            self.foreign_actions
            or self.foreign_writes
            or self.two_lead_seconds > 0.0
            or self.falling_epochs
            or self.leaderless_ends
            or not self.writes_committed
        )


@dataclass(slots=True)
class _Belief:
    process: SimulatedProcess
    leadership: Leadership

    def until(self) -> float:
        """Return the true time at which this process stops to consider itself leader, if nothing changes."""
        clock = self.process.clock
        if not self.process.alive:
            return float("-inf")
        return clock.true_seconds(self.leadership.ends_at - clock.started_at)


class Judge:
    """Observes requests at the server, actions at their start, and leadership over time."""

    def __init__(self) -> None:
        self.counts = Counts(runs=1)
        self._beliefs: list[_Belief] = []
        self._highest_claim = 0
        self._highest_term = 0
        self._stamped: dict[str, int] = {}
        self._renewed_at: dict[str, float] = {}
        self._last_leader = ""
        self._seen_at = 0.0
        self._seen_until: list[float] = []

    # Leadership.

    def watch_time(self, now: float) -> None:
        """Add the time since the last call in which two processes led. Call it between any two events."""
        if now > self._seen_at:
            if len(self._seen_until) > 1:
                second = sorted(self._seen_until)[-2]
                self.counts.two_lead_seconds += max(0.0, min(second, now) - self._seen_at)
            self._seen_at = now
        untils = ((belief, belief.until()) for belief in self._beliefs)
        alive = [(belief, until) for belief, until in untils if until > now]
        self._beliefs = [belief for belief, _ in alive]
        self._seen_until = [until for _, until in alive]

    def term_began(self, process: SimulatedProcess, leadership: Leadership) -> None:
        now = process.scheduler.now
        self.counts.terms += 1
        if leadership.epoch <= self._highest_term:
            self.counts.falling_epochs += 1
        if self._last_leader not in ("", leadership.identity):
            self.counts.takeovers.append(now - self._renewed_at[self._last_leader])
        self._last_leader = leadership.identity
        self._highest_term = max(self._highest_term, leadership.epoch)
        self._beliefs.append(_Belief(process, leadership))
        self.watch_time(now)

    def leaders(self, now: float) -> int:
        return sum(belief.until() > now for belief in self._beliefs)

    # Actions.

    def action_began(self, epoch: int) -> None:
        self.counts.actions += 1
        if epoch < self._highest_claim:
            self.counts.foreign_actions += 1

    # Writes, at the instant at which the server handles them.

    def saw(self, request: Request, answer: ApiResponse, now: float) -> None:
        if request.method is not Method.PATCH:
            return
        if _REMEDIATIONS in request.path:
            self._saw_write(request, answer)
        elif _LEASES in request.path and answer.status == 200:
            self._saw_lease(request, answer, now)

    def _saw_lease(self, request: Request, answer: ApiResponse, now: float) -> None:
        spec = _decode(request.body).get("spec", {})
        if holder := spec.get("holderIdentity"):
            self._renewed_at[holder] = now
        if "acquireTime" in spec:
            self._highest_claim = int(_decode(answer.body)["metadata"]["resourceVersion"])

    def _saw_write(self, request: Request, answer: ApiResponse) -> None:
        if answer.status != 200:
            self.counts.writes_refused += 1
            return
        epoch = int(_decode(request.body)["status"]["epoch"])
        stamped = self._stamped.get(request.path, 0)
        self.counts.writes_committed += 1
        if epoch < stamped:
            self.counts.foreign_writes += 1
        elif epoch < self._highest_claim:
            self.counts.late_writes += 1
        self._stamped[request.path] = max(stamped, epoch)


def _decode(body: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(body)
    return decoded
