"""Watches one simulated run from outside, on the true clock, and counts what must not happen."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Method, Request
from nodemend.kube.leader_loop import Leadership
from nodemend.testing.processes import SimulatedProcess

_LEASES = f"/{LEASE.plural}/"
_REMEDIATIONS = f"/{MANUAL_REMEDIATION.plural}/"


@dataclass(slots=True)
class Tally:
    """What one run, or many, came to."""

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

    def add(self, other: "Tally") -> None:
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                for key, count in theirs.items():
                    mine[key] = mine.get(key, 0) + count
            else:
                setattr(self, name, mine + theirs)

    @property
    def broken(self) -> bool:
        """A promise was broken, or nothing was there to break."""
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
        """The true time at which this process stops believing that it leads, as things stand."""
        clock = self.process.clock
        if not self.process.alive:
            return float("-inf")
        return clock.true_seconds(self.leadership.ends_at - clock.started_at)


class Judge:
    """Sees every request where it is handled, every action where it begins, every belief as time passes."""

    def __init__(self) -> None:
        self.tally = Tally(runs=1)
        self._beliefs: list[_Belief] = []
        self._highest_claim = 0
        self._highest_term = 0
        self._stamped: dict[str, int] = {}
        self._renewed_at: dict[str, float] = {}
        self._last_leader = ""
        self._seen_at = 0.0
        self._seen_until: list[float] = []

    # Beliefs.

    def watch_time(self, now: float) -> None:
        """Call between any two events: adds up the time since the last call during which two believed."""
        if now > self._seen_at:
            if len(self._seen_until) > 1:
                second = sorted(self._seen_until)[-2]
                self.tally.two_lead_seconds += max(0.0, min(second, now) - self._seen_at)
            self._seen_at = now
        untils = ((belief, belief.until()) for belief in self._beliefs)
        alive = [(belief, until) for belief, until in untils if until > now]
        self._beliefs = [belief for belief, _ in alive]
        self._seen_until = [until for _, until in alive]

    def term_began(self, process: SimulatedProcess, leadership: Leadership) -> None:
        now = process.scheduler.now
        self.tally.terms += 1
        if leadership.epoch <= self._highest_term:
            self.tally.falling_epochs += 1
        if self._last_leader not in ("", leadership.identity):
            self.tally.takeovers.append(now - self._renewed_at[self._last_leader])
        self._last_leader = leadership.identity
        self._highest_term = max(self._highest_term, leadership.epoch)
        self._beliefs.append(_Belief(process, leadership))
        self.watch_time(now)

    def leaders(self, now: float) -> int:
        return sum(belief.until() > now for belief in self._beliefs)

    # Actions.

    def action_began(self, epoch: int) -> None:
        self.tally.actions += 1
        if epoch < self._highest_claim:
            self.tally.foreign_actions += 1

    # Writes, at the instant at which the server handles them.

    def saw(self, request: Request, answer: Answer, now: float) -> None:
        if request.method is not Method.PATCH:
            return
        if _REMEDIATIONS in request.path:
            self._saw_write(request, answer)
        elif _LEASES in request.path and answer.status == 200:
            self._saw_lease(request, answer, now)

    def _saw_lease(self, request: Request, answer: Answer, now: float) -> None:
        spec = _decode(request.body).get("spec", {})
        if holder := spec.get("holderIdentity"):
            self._renewed_at[holder] = now
        if "acquireTime" in spec:
            self._highest_claim = int(_decode(answer.body)["metadata"]["resourceVersion"])

    def _saw_write(self, request: Request, answer: Answer) -> None:
        if answer.status != 200:
            self.tally.writes_refused += 1
            return
        epoch = int(_decode(request.body)["status"]["epoch"])
        stamped = self._stamped.get(request.path, 0)
        self.tally.writes_committed += 1
        if epoch < stamped:
            self.tally.foreign_writes += 1
        elif epoch < self._highest_claim:
            self.tally.late_writes += 1
        self._stamped[request.path] = max(stamped, epoch)


def _decode(body: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(body)
    return decoded
