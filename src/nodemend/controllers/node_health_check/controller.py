"""Judges one target at a time, and asks for what the verdict needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, assert_never

from nodemend.api import keys
from nodemend.api.timestamps import print_time
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.controllers.node_health_check import act, gather, report
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.guarding import Guarding, Moment, stormy
from nodemend.controllers.node_health_check.observations import Observations
from nodemend.controllers.node_health_check.second_look import SecondLook
from nodemend.controllers.node_health_check.standings import HEALTHY, Entry, Place, Standing, Stood, Tally
from nodemend.controllers.node_health_check.weather import Weather
from nodemend.decide.guard_holds import ApiUnsettled, Pacing, Settling
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_request import Create, Leave, Request, Withdraw, decide
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube import api_request
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown
from nodemend.kube.api_reply import Unsent
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

LOOK_AGAIN = 10.0
HELD_AT_A_TIME = 50
HELD_EVERY = 1.0
REPORT_AT_MOST_EVERY = 1.0
A_MOMENT = 0.02
"""A deadline may be a rounding error away: without a pause we would ask for it again and again."""


@dataclass(frozen=True, slots=True)
class TargetKey:
    node: str


@dataclass(frozen=True, slots=True)
class CheckKey:
    check: str


@dataclass(frozen=True, slots=True)
class PolicyKey:
    """The whole cluster's report."""


@dataclass(frozen=True, slots=True)
class HeldKey:
    """Whoever is held, looked at again so many at a time: a storm of thousands costs no more than a few."""


Key = TargetKey | CheckKey | PolicyKey | HeldKey


class Recorder(Protocol):
    """Told of verdicts and of what was done, for events, logs and metrics."""

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None: ...

    def asked(self, target: Target, request: Create | Withdraw) -> None: ...

    def counted(self, check: str, tally: Tally | None) -> None:
        """Where the targets of a check stand; None when the check is gone."""
        ...


class NodeHealthCheckController:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(
        self,
        view: View,
        seen: Observations,
        reader: Reader,
        client: ApiClient,
        recorder: Recorder,
        ask_for: Callable[[Key, float], None],
    ) -> None:
        self._view = view
        self._ages = seen.ages
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._ask_for = ask_for
        self._held: dict[str, None] = {}
        now = reader.runtime.monotonic()
        # When the last leadership began its last remediation is not known: it may have been just now.
        weather = Weather(stormy_before=stormy(view), now=now)
        self._guarding = Guarding(view, seen.roll, weather, last_start=now)
        self._second_look = SecondLook(reader, view, self._guarding)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case TargetKey(node):
                return await self._reconcile_target(node)
            case CheckKey(check):
                return await self._report(check)
            case PolicyKey():
                return await self._report_policy()
            case HeldKey():
                return self._wake_held()

    async def _reconcile_target(self, name: str) -> Outcome:
        self._held.pop(name, None)
        target = gather.find_target(self._view, name)
        if target is None:
            self._strike(name)
            return Done()
        moment = self._moment()
        health = gather.judge_target(target, self._ages, moment.now)
        existing = gather.open_remediation(self._view, target)
        place = self._guarding.place_of(target, moment)
        before = self._guarding.standings.stood(name)
        self._count_in(name, place, health)
        self._guarding.look_around(target, place, moment)
        asks = existing is None and isinstance(health, Unhealthy)
        guarded = guard(self._guarding.facts_of(target, place, moment)) if asks else Go()
        request = decide(health, existing, guarded, gather.healthy_delay(target))
        # The book is written before the deed: a deed that fails is tried again, and the book still stands.
        self._enter(target, place, before, _entry(health, request, remediating=existing is not None))
        return await self._act(target, place, request)

    async def _act(self, target: Target, place: Place, request: Request) -> Outcome:
        match request:
            case Create():
                write = await self._second_look.before_create(target, place)
            case Withdraw():
                write = await self._second_look.before_withdraw(target)
            case Leave(again_in):
                return Done() if again_in is None else RequeueAfter(max(again_in, A_MOMENT))
            case Hold():
                return self._hold(target)
            case _:
                assert_never(request)
        if isinstance(write, Hold):
            before = self._guarding.standings.stood(target.node.name)
            self._enter(target, place, before, _held(write))
            return self._hold(target)
        outcome = await self._write(write)
        if isinstance(request, Create):
            # Also when nobody knows whether it was applied: the pace is for what may have begun.
            self._guarding.last_start = self._reader.runtime.monotonic()
        if outcome == Done():
            self._recorder.asked(target, request)
        return outcome

    def _hold(self, target: Target) -> Outcome:
        self._held[target.node.name] = None
        self._ask_for(HeldKey(), LOOK_AGAIN)
        return Done()

    def _wake_held(self) -> Outcome:
        """The longest asleep first."""
        for name in list(self._held)[:HELD_AT_A_TIME]:
            del self._held[name]
            self._ask_for(TargetKey(name), 0.0)
        return RequeueAfter(HELD_EVERY) if self._held else Done()

    async def _write(self, request: api_request.Request) -> Outcome:
        """Done when it was applied. Watches bring what comes of it."""
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        match await self._client.write(request, Acknowledged, deadline=deadline):
            case Ok() | Undecodable():
                return Done()
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
                return RequeueAfter(REPORT_AT_MOST_EVERY)
            case Refused(message=why) | Unknown(why) | Unsent(why):
                return Retry(why)

    async def _report(self, name: str) -> Outcome:
        check = self._view.checks.get(name)
        if check is None:
            self._recorder.counted(name, None)
            return Done()
        tally = self._guarding.standings.of_check(name)
        self._recorder.counted(name, tally)
        moment = self._moment()
        guarded = self._guarding.of_check(check, moment)
        status = report.status_of(check, tally, guarded, print_time(moment.wall))
        if status == check.status:
            return Done()
        return await self._write(act.report_status(check, report.as_fields(status)))

    async def _report_policy(self) -> Outcome:
        policy = self._view.policies.get(keys.POLICY_NAME)
        if policy is None:
            return Done()
        moment = self._moment()
        census, weather = self._guarding.standings.census(), self._guarding.weather(moment)
        status = report.policy_status(policy, census, weather, print_time(moment.wall))
        if status != policy.status:
            outcome = await self._write(act.report_policy(policy, report.as_fields(status)))
            if outcome != Done():
                return outcome
        return RequeueAfter(LOOK_AGAIN) if weather else Done()

    def _count_in(self, name: str, place: Place, health: NodeHealth) -> None:
        """Count a target among the unwell before the guard is asked about it, if it is one."""
        known = self._guarding.standings.find(name)
        if isinstance(health, Healthy) or (known is not None and known.standing is not Standing.HEALTHY):
            return
        self._guarding.standings.enter(name, place, Entry(Standing.UNHEALTHY))

    def _enter(self, target: Target, place: Place, before: Stood | None, entry: Entry) -> None:
        self._guarding.standings.enter(target.node.name, place, entry)
        if before == (place, entry):
            return
        self._recorder.judged(target, before[1] if before else None, entry)
        self._ask_for_reports(place.check)
        if before is not None and before[0].check != place.check:
            self._ask_for_reports(before[0].check)

    def _strike(self, name: str) -> None:
        place = self._guarding.standings.strike(name)
        if place is not None:
            self._ask_for_reports(place.check)

    def _ask_for_reports(self, check: str) -> None:
        self._ask_for(CheckKey(check), REPORT_AT_MOST_EVERY)
        self._ask_for(PolicyKey(), REPORT_AT_MOST_EVERY)

    def _moment(self) -> Moment:
        runtime = self._reader.runtime
        return Moment(runtime.monotonic(), runtime.wall())


def _held(hold: Hold) -> Entry:
    explanation = explain(hold.reason)
    # A countdown would be out of date as soon as it is written.
    lasting = not isinstance(hold.reason, Settling | Pacing | ApiUnsettled)
    message = str(explanation) if lasting else explanation.sentence
    return Entry(Standing.HELD, type(hold.reason).__name__, message)


def _entry(health: NodeHealth, request: Request, *, remediating: bool) -> Entry:
    """Where the target stands, in words that do not change while nothing does."""
    if remediating or isinstance(request, Create):
        return Entry(Standing.REMEDIATING)
    if isinstance(request, Hold):
        return _held(request)
    match health:
        case Healthy():
            return HEALTHY
        case Suspect(match):
            why = f"{match.type}={match.status} for less than {match.period:.0f} s"
            return Entry(Standing.SUSPECT, why, why)
        case Unhealthy(match):
            why = f"{match.type}={match.status} for {match.period:.0f} s"
            return Entry(Standing.UNHEALTHY, why, why)
        case Unjudged(why):
            return Entry(Standing.UNJUDGED, why, why)
        case _:
            assert_never(health)
