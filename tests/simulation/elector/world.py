"""One seeded run: three candidates, one API server, and everything that can go wrong between them."""

import random
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import yaml

from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.kube.leader_timing import LeaseTiming
from nodemend.testing.api_server.remediation_rules import remediation_rules
from nodemend.testing.api_server.server import NAMESPACES, SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.network import Link, LinkQuality, ServedWatch, worse
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from tests.simulation.elector.candidates import ELECTION, NAMESPACE, OBJECTS, Candidate
from tests.simulation.elector.judge import Judge, Tally

FAULTS_FROM: Final = 5.0
FAULTS_UNTIL: Final = 125.0
SETTLED_BY: Final = 180.0
HOSTS: Final = ("a", "b", "c")
_DEFINITION: Final = Path(__file__).parents[3] / "deploy/crds/manualremediations.yaml"
_CALM: Final = LinkQuality()


class TroubledServer:
    """The simulated API server; on request it answers with errors, before or after doing what was asked."""

    def __init__(self, server: SimulatedApiServer, judge: Judge, scheduler: Scheduler) -> None:
        self._server = server
        self._judge = judge
        self._scheduler = scheduler
        self._chance = scheduler.chance("trouble of the server")
        self.trouble = 0.0

    def handle(self, request: Request) -> Answer:
        answer = self._fault(request)
        if answer is None:
            answer = self._apply(request)
        return answer

    def _apply(self, request: Request) -> Answer:
        answer = self._server.handle(request)
        self._judge.saw(request, answer, self._scheduler.now)
        return answer

    def _fault(self, request: Request) -> Answer | None:
        if self._chance.random() >= self.trouble:
            return None
        status = self._chance.choice((409, 429, 500, 500, 503))
        if status == 500 and self._chance.random() < 0.5:
            self._apply(request)
        return Answer(status, b"{}", retry_after=1.0 if status == 429 else None)

    def watch(self, request: Request) -> ServedWatch | Answer:
        raise NotImplementedError


class ElectorWorld:
    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        self.scheduler = Scheduler(seed, keep_trace=keep_trace)
        self.judge = Judge()
        self._chance = self.scheduler.chance("campaign")
        self._api = _server(self.scheduler)
        self._server = TroubledServer(self._api, self.judge, self.scheduler)
        self._admin = Direct(self._api)
        self._timings = _draw_timings(self._chance)
        rate_error = self._timings[HOSTS[0]].clock_rate_error
        self._rates = {host: _draw_rate(self._chance, rate_error) for host in HOSTS}
        self._candidates: dict[str, Candidate] = {}
        self._starts = 0

    def play(self) -> Tally:
        for name in OBJECTS:
            self._admin.create(MANUAL_REMEDIATION, {"metadata": {"name": name}}, NAMESPACE)
        for host in HOSTS:
            self.scheduler.at(self._chance.uniform(0.0, 3.0), partial(self._start, host))
        for _ in range(self._chance.randint(5, 25)):
            when = self._chance.uniform(FAULTS_FROM, FAULTS_UNTIL - 1.0)
            self.scheduler.at(when, self._strike)
        self.scheduler.at(FAULTS_UNTIL, self._heal)
        self.scheduler.run(SETTLED_BY, stop=self._watch)
        self.judge.watch_time(SETTLED_BY)
        if self.judge.leaders(SETTLED_BY) != 1:
            self.judge.tally.leaderless_ends += 1
        self.judge.tally.simulated_seconds = SETTLED_BY
        for candidate in self._candidates.values():
            candidate.process.crash()
        return self.judge.tally

    def _watch(self) -> bool:
        self.judge.watch_time(self.scheduler.now)
        return False

    def _start(self, host: str) -> None:
        """A new process on the host, unless one is there."""
        if host in self._candidates and self._candidates[host].process.alive:
            return
        self._starts += 1
        started_at = self._chance.uniform(0.0, 1e6)
        clock = HostClock(rate=self._rates[host], started_at=started_at)
        # A name of its own for each start: chance is drawn by name, and identities must differ.
        process = SimulatedProcess(self.scheduler, f"{host}{self._starts}", clock)
        link = Link(process, self._server, _CALM)
        candidate = Candidate(process, link, self._timings[host], self.judge)
        self._candidates[host] = candidate
        candidate.start(lambda: self.scheduler.after(1.0, partial(self._replace, host, process)))

    def _replace(self, host: str, ended: SimulatedProcess) -> None:
        """A process that came to its end is started again, as a Deployment would."""
        ended.crash()
        self._start(host)

    # What goes wrong.

    def _strike(self) -> None:
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
            self._trouble_server,
            self._delete_lease,
            self._touch_lease,
            self._crash,
            self._resign,
        )
        strike = self._chance.choice(strikes)
        name = strike.__name__.strip("_")
        self.scheduler.note(f"{name} {host}")
        self.judge.tally.faults[name] = self.judge.tally.faults.get(name, 0) + 1
        strike(host, candidate)

    def _target(self) -> str:
        """Most faults hit the leader: there they matter."""
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
        """What is sent arrives, but up to a minute after its sender gave up."""
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

    def _trouble_server(self, _host: str, _candidate: Candidate) -> None:
        self._server.trouble = self._chance.choice((0.1, 0.5, 1.0))

        def recover() -> None:
            self._server.trouble = 0.0

        self.scheduler.after(self._duration() / 2, recover)

    def _delete_lease(self, _host: str, _candidate: Candidate) -> None:
        # Together with different lease durations this is outside of what the election promises.
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
        self._server.trouble = 0.0
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
    """Half of them as tight as LeaseTiming allows, where mistakes show; in a fifth of runs they differ."""
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
