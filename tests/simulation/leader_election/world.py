"""One seeded run: three candidates, one API server, and all faults between them."""

import random
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import yaml

from nodemend.api.resources import LEASE, MANUAL_REMEDIATION
from nodemend.kube.leader_election import LeaseTiming
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.remediation_rules import remediation_rules
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.network import Link, LinkQuality, ServedWatch, worse
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.simulation.leader_election.candidates import ELECTION, NAMESPACE, OBJECTS, Candidate
from tests.simulation.leader_election.violations import Counts, Judge

FAULTS_FROM: Final = 5.0
FAULTS_UNTIL: Final = 125.0
SETTLED_BY: Final = 180.0
HOSTS: Final = ("a", "b", "c")
_DEFINITION: Final = Path(__file__).parents[3] / "deploy/crds/manualremediations.yaml"
_CALM: Final = LinkQuality()


class TroubledServer:
    """The simulated API server with errors, before or after it handled the request."""

    def __init__(self, server: SimulatedApiServer, evaluate: Judge, scheduler: Scheduler) -> None:
        self._server = server
        self._evaluate = evaluate
        self._scheduler = scheduler
        self._chance = scheduler.chance("trouble of the server")
        self.failure = 0.0

    def handle(self, request: Request) -> ApiResponse:
        answer = self._fault(request)
        if answer is None:
            answer = self._apply(request)
        return answer

    def _apply(self, request: Request) -> ApiResponse:
        answer = self._server.handle(request)
        self._evaluate.saw(request, answer, self._scheduler.now)
        return answer

    def _fault(self, request: Request) -> ApiResponse | None:
        if self._chance.random() >= self.failure:
            return None
        status = self._chance.choice((409, 429, 500, 500, 503))
        if status == 500 and self._chance.random() < 0.5:
            self._apply(request)
        return ApiResponse(status, b"{}", retry_after=1.0 if status == 429 else None)

    def watch(self, request: Request) -> ServedWatch | ApiResponse:
        raise NotImplementedError


class ElectorWorld:
    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        self.scheduler = Scheduler(seed, keep_trace=keep_trace)
        self.evaluate = Judge()
        self._chance = self.scheduler.chance("campaign")
        self._api = _server(self.scheduler)
        self._server = TroubledServer(self._api, self.evaluate, self.scheduler)
        self._admin = Direct(self._api)
        self._timings = _draw_timings(self._chance)
        rate_error = self._timings[HOSTS[0]].clock_rate_error
        self._rates = {host: _draw_rate(self._chance, rate_error) for host in HOSTS}
        self._candidates: dict[str, Candidate] = {}
        self._starts = 0

    def play(self) -> Counts:
        for name in OBJECTS:
            self._admin.create(MANUAL_REMEDIATION, {"metadata": {"name": name}}, NAMESPACE)
        for host in HOSTS:
            self.scheduler.at(self._chance.uniform(0.0, 3.0), partial(self._start, host))
        for _ in range(self._chance.randint(5, 25)):
            when = self._chance.uniform(FAULTS_FROM, FAULTS_UNTIL - 1.0)
            self.scheduler.at(when, self._inject)
        self.scheduler.at(FAULTS_UNTIL, self._heal)
        self.scheduler.run(SETTLED_BY, stop=self._watch)
        self.evaluate.watch_time(SETTLED_BY)
        if self.evaluate.leaders(SETTLED_BY) != 1:
            self.evaluate.counts.leaderless_ends += 1
        self.evaluate.counts.simulated_seconds = SETTLED_BY
        for candidate in self._candidates.values():
            candidate.process.crash()
        return self.evaluate.counts

    def _watch(self) -> bool:
        self.evaluate.watch_time(self.scheduler.now)
        return False

    def _start(self, host: str) -> None:
        """Start a new process on the host, unless one is running."""
        if host in self._candidates and self._candidates[host].process.alive:
            return
        self._starts += 1
        started_at = self._chance.uniform(0.0, 1e6)
        clock = HostClock(rate=self._rates[host], started_at=started_at)
        # A separate name for each start: random streams are selected by name, and identities must differ.
        process = SimulatedProcess(self.scheduler, f"{host}{self._starts}", clock)
        link = Link(process, self._server, _CALM)
        candidate = Candidate(process, link, self._timings[host], self.evaluate)
        self._candidates[host] = candidate
        candidate.start(lambda: self.scheduler.after(1.0, partial(self._replace, host, process)))

    def _replace(self, host: str, ended: SimulatedProcess) -> None:
        """Restart a process that ended, as a Deployment does."""
        ended.crash()
        self._start(host)

    # Faults.

    def _inject(self) -> None:
        host = self._target()
        candidate = self._candidates.get(host)
        if candidate is None or not candidate.process.alive:
            return
        strikes = (
            self._hang,
            self._hang,
            self._lose,
            self._delay,
            self._delay,
            self._pause,
            self._pause,
            self._step_wall_clock,
            self._fail_server,
            self._delete_lease,
            self._touch_lease,
            self._crash,
            self._resign,
        )
        fault = self._chance.choice(strikes)
        name = fault.__name__.strip("_")
        self.scheduler.note(f"{name} {host}")
        self.evaluate.counts.faults[name] = self.evaluate.counts.faults.get(name, 0) + 1
        fault(host, candidate)

    def _target(self) -> str:
        """Return the host of a fault: mostly that of the leader, where faults matter."""
        if self._chance.random() < 0.6:
            lease = self._admin.get(LEASE, ELECTION.name, ELECTION.namespace)
            holder = str((lease or {}).get("spec", {}).get("holderIdentity", ""))
            if holder[:1] in HOSTS:
                return holder[0]
        return self._chance.choice(HOSTS)

    def _duration(self) -> float:
        longest = 3.0 * self._timings[HOSTS[0]].lease_duration
        return min(self._chance.uniform(0.2, longest), FAULTS_UNTIL - self.scheduler.now)

    def _hang(self, _host: str, candidate: Candidate) -> None:
        up = self._chance.random() < 0.6
        down = self._chance.random() < 0.6 or not up
        candidate.link.cut(up=up, down=down)
        self.scheduler.after(self._duration(), candidate.link.heal)

    def _lose(self, _host: str, candidate: Candidate) -> None:
        self._spoil(candidate, worse(_CALM, self._chance.uniform(0.02, 0.2)))

    def _delay(self, _host: str, candidate: Candidate) -> None:
        """Requests arrive, but up to a minute after their sender gave up."""
        self._spoil(candidate, LinkQuality(late=self._chance.uniform(0.3, 1.0)))

    def _spoil(self, candidate: Candidate, quality: LinkQuality) -> None:
        candidate.link.quality = quality

        def recover() -> None:
            candidate.link.quality = _CALM

        self.scheduler.after(self._duration(), recover)

    def _pause(self, _host: str, candidate: Candidate) -> None:
        candidate.process.pause(self._duration())

    def _step_wall_clock(self, _host: str, candidate: Candidate) -> None:
        seconds = self._chance.choice((-1e7, -3600.0, -2.0, -0.5, 0.5, 3600.0, 1e7))
        candidate.process.clock.wall_error += timedelta(seconds=seconds)

    def _fail_server(self, _host: str, _candidate: Candidate) -> None:
        self._server.failure = self._chance.choice((0.1, 0.5, 1.0))

        def recover() -> None:
            self._server.failure = 0.0

        self.scheduler.after(self._duration() / 2, recover)

    def _delete_lease(self, _host: str, _candidate: Candidate) -> None:
        # A deletion together with different lease durations is outside of the guarantees of the election.
        if len({timing.lease_duration for timing in self._timings.values()}) == 1:
            self._admin.delete(LEASE, ELECTION.name, ELECTION.namespace)

    def _touch_lease(self, _host: str, _candidate: Candidate) -> None:
        note = {"metadata": {"annotations": {"touched": str(self.scheduler.now)}}}
        self._admin.patch(LEASE, ELECTION.name, note, at=(ELECTION.namespace, ""))

    def _crash(self, host: str, candidate: Candidate) -> None:
        candidate.process.crash()
        self.scheduler.after(self._chance.uniform(0.1, 10.0), lambda: self._start(host))

    def _resign(self, _host: str, candidate: Candidate) -> None:
        candidate.resign()

    def _heal(self) -> None:
        self._server.failure = 0.0
        for candidate in self._candidates.values():
            candidate.link.heal()
            candidate.link.quality = _CALM


def _server(scheduler: Scheduler) -> SimulatedApiServer:
    return SimulatedApiServer(
        scheduler.wall,
        definitions=(_definition(),),
        rules={MANUAL_REMEDIATION: (remediation_rules,)},
        namespaces=(*NAMESPACES, NAMESPACE),
    )


@cache
def _definition() -> dict[str, Any]:
    definition: dict[str, Any] = yaml.safe_load(_DEFINITION.read_text())
    return definition


def _draw_timings(chance: random.Random) -> dict[str, LeaseTiming]:
    """Draw timings: half as tight as LeaseTiming allows, where errors show; different in a fifth of runs."""
    rate_error = chance.choice((0.0, 0.001, 0.01, 0.05))
    duration = chance.randint(5, 15)
    differ = chance.random() < 0.2
    return {
        host: _draw_timing(chance, rate_error, chance.randint(5, 15) if differ else duration)
        for host in HOSTS
    }


def _draw_timing(chance: random.Random, rate_error: float, duration: int) -> LeaseTiming:
    untaken_for = duration * (1 - rate_error) / (1 + rate_error)
    stop_within = chance.uniform(0.05, 1.0)
    longest = untaken_for - stop_within - 1e-6
    renew_deadline = longest if chance.random() < 0.5 else chance.uniform(0.5, 1.0) * longest
    retry_period = chance.uniform(0.1, 0.25) * renew_deadline
    return LeaseTiming(
        lease_duration=duration,
        renew_deadline=renew_deadline,
        stop_within=stop_within,
        retry_period=retry_period,
        retry_jitter=0.2,
        request_timeout=chance.uniform(0.3, 0.99) * (renew_deadline - 1.2 * retry_period) / 2,
        clock_rate_error=rate_error,
    )


def _draw_rate(chance: random.Random, rate_error: float) -> float:
    return 1.0 + rate_error * chance.choice((-1.0, 1.0, 0.0, chance.uniform(-1.0, 1.0)))
