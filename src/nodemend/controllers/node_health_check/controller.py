"""Judges one target at a time, and asks for what the verdict needs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from nodemend.api.event import ObjectReference
from nodemend.api.node_health_check import HowEnded
from nodemend.controllers.checking import waiting_room
from nodemend.controllers.checking.entries import entry_of, held_entry
from nodemend.controllers.checking.first_sights import FirstSights
from nodemend.controllers.checking.guarding import Guarding, Moment, stormy
from nodemend.controllers.checking.neighbours import Neighbours
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.standings import REMEDIATING, Entry, Place, Standing, Stood
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.checking.waiting_room import WaitingRoom
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Found, Target, View
from nodemend.controllers.node_health_check.history import History
from nodemend.controllers.node_health_check.order_ends import Lapses, OrderEnds
from nodemend.controllers.node_health_check.orders import Orders, Warrant
from nodemend.controllers.node_health_check.orphans import OrphanRecorder, Orphans
from nodemend.controllers.node_health_check.reporter import Counts, Reporter
from nodemend.controllers.node_health_check.rungs import Rungs
from nodemend.controllers.node_health_check.second_look import SecondLook
from nodemend.controllers.node_health_check.surroundings import NodeSurroundings
from nodemend.controllers.node_health_check.wards import ward_of
from nodemend.decide.holds import CreationRefused, Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Unhealthy
from nodemend.decide.remediation_request import Create, Escalate, Leave, Open, Request, Withdraw, decide
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.api_client import ApiClient
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

COUNTED_AT_A_TIME = 500
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
    """Whoever is held."""


Key = TargetKey | CheckKey | PolicyKey | HeldKey


class Recorder(Counts, OrphanRecorder, Lapses, Protocol):
    """Told of verdicts and of what was done, for events, logs and metrics."""

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None: ...

    def asked(
        self,
        target: Target,
        request: Create | Withdraw | Escalate,
        what: ObjectReference,
        warrant: Warrant | None,
    ) -> None:
        """`what` was created, on somebody's order where there is a `warrant`; or it is to go."""
        ...

    def started(self, target: Target, what: ObjectReference, waited: float | None) -> None:
        """`waited` is since something was first seen to be wrong; None for a further remedy, or an order."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """A target, where it is counted, the remediation that is there for it, and what a person has ordered."""

    target: Target
    place: Place
    found: Found | None
    before: Stood | None
    rung: int
    warrant: Warrant | None


class NodeHealthCheckController:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(  # noqa: PLR0913 - what it sees, what it remembers, what it writes with, whom it tells
        self,
        view: View,
        seen: Observations,
        reader: Reader,
        client: ApiClient,
        recorder: Recorder,
        ask_for: Callable[[Key, float], None],
        *,
        turn: Turn,
        neighbours: Neighbours,
    ) -> None:
        self._view = view
        self._seen = seen
        self._reader = reader
        self._recorder = recorder
        self._ask_for = ask_for
        self._turn = turn
        self._waiting: WaitingRoom[str] = WaitingRoom()
        self._rungs = Rungs(view)
        self._first_sights = FirstSights()
        self._counted_by: object = None
        now = reader.runtime.monotonic()
        # When the last leadership began its last remediation is not known: it may have been just now.
        weather = Weather(stormy_before=stormy(view.policies), now=now)
        self._guarding = Guarding(NodeSurroundings(view, seen.roll), weather, last_start=now)
        self._orders = Orders(view, seen.orders, reader)
        self._second_look = SecondLook(reader, view, self._guarding, self._orders, neighbours)
        self._writer = Writer(client, reader.runtime)
        self._order_ends = OrderEnds(view, self._orders, self._writer, recorder)
        self._history = History(seen.endings, self._guarding.standings)
        self._reporter = Reporter(view, self._guarding, self._history, self._writer, recorder)
        self._orphans = Orphans(view, reader, self._writer, recorder, self._history)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case TargetKey(node):
                return await self._reconcile_target(node)
            case CheckKey(check):
                # A report before anybody is counted would say that there is nobody.
                await self._count_everybody()
                return await self._reporter.report_check(check, self._moment())
            case PolicyKey():
                await self._count_everybody()
                return await self._reporter.report_policy(self._moment())
            case HeldKey():
                return self._wake_held()

    async def _reconcile_target(self, name: str) -> Outcome:
        self._waiting.leave(name)
        target = gather.find_target(self._view, name)
        if target is None:
            self._strike(name)
            withdrawn = await self._orphans.withdraw(name, None)
            if withdrawn is not None:
                return withdrawn
            return await self._order_ends.end_stray(name, self._reader.runtime.monotonic())
        await self._count_everybody()
        withdrawn = await self._orphans.withdraw(name, target)
        if withdrawn is not None:
            return withdrawn
        moment = self._moment()
        health = gather.judge_target(target, self._seen.ages, moment.now)
        self._first_sights.note(name, health, moment.now)
        found = gather.find_remediation(self._view, target)
        existing = self._as_open(found, target, moment) if found is not None else None
        ward = ward_of(target, moment.wall)
        place = self._guarding.place_of(ward, moment)
        before = self._guarding.standings.stood(name)
        weighed = self._orders.weigh(target, health, existing, moment.now)
        ordered = weighed.stands
        self._count_in(name, place, health, ordered=ordered)
        self._guarding.look_around(ward, place, moment)
        asks = existing is None and (ordered or isinstance(health, Unhealthy))
        facts = self._guarding.facts_of(ward, place, moment) if asks else None
        warrant = weighed.warrant(facts)
        guarded = guard(facts, warrant.passing if warrant else ()) if facts else Go()
        request = decide(health, existing, guarded, gather.wishes_of(target), ordered=ordered)
        ours = found if existing is not None and existing.ours else None
        rung = self._rungs.note(target, health, ours, request)
        case = Case(target, place, found, before, rung, warrant)
        if not isinstance(request, Create):
            hold = request if isinstance(request, Hold) else None
            # The book is written before the deed: a deed that fails is tried again, the book still stands.
            self._enter(case, entry_of(health, hold, remediating=ours is not None))
        outcome = await self._act(case, request)
        # One write a pass, and what heals goes first.
        writes = isinstance(request, Create | Withdraw | Escalate)
        return outcome if writes else await self._order_ends.end(target, weighed) or outcome

    async def _count_everybody(self) -> None:
        """Before anybody is judged by new rules: a storm is a share of all, not of the first few."""
        rules = gather.rules_in_force(self._view)
        if rules == self._counted_by:
            return
        for number, name in enumerate(list(self._view.nodes.keys())):
            self._count(name)
            if number % COUNTED_AT_A_TIME == COUNTED_AT_A_TIME - 1:
                await self._reader.runtime.sleep(0)
        self._counted_by = rules
        for check in self._view.checks.all():
            self._ask_for_reports(check.metadata.name)

    def _count(self, name: str) -> None:
        target, moment = gather.find_target(self._view, name), self._moment()
        if target is None:
            self._strike(name)
            return
        health = gather.judge_target(target, self._seen.ages, moment.now)
        remediating = gather.find_remediation(self._view, target) is not None
        counted = replace(entry_of(health, None, remediating=remediating), remedy=self._rungs.of(name))
        entry = self._guarding.standings.find(name) or counted
        place = self._guarding.place(target.check.metadata.name, target.node.labels, moment)
        self._guarding.standings.enter(name, place, entry)

    def _as_open(self, found: Found, target: Target, moment: Moment) -> Open:
        since = self._seen.remediations.get(found.record.uid, moment.now)
        return gather.as_open(found, target, self._view, moment.now - since)

    async def _act(self, case: Case, request: Request) -> Outcome:
        match request:
            case Create():
                return await self._create(case, request)
            case Withdraw() | Escalate():
                return await self._withdraw(case, request)
            case Leave(again_in):
                return Done() if again_in is None else RequeueAfter(max(again_in, A_MOMENT))
            case Hold():
                return self._hold(case.target)
            case _:
                assert_never(request)

    async def _create(self, case: Case, request: Create) -> Outcome:
        target, index = case.target, self._rungs.next_of(case.target)
        what = gather.would_create(target, index)
        # The guard counts what is open: two creations at once could both find room for one.
        async with self._turn.taken():
            write = await self._second_look.before_create(target, case.place, index, case.warrant)
            if isinstance(write, Hold):
                self._enter(case, held_entry(write))
                return self._hold(target)
            outcome = await self._writer.write(write)
            self._enter_begun(case, what, outcome)
        if outcome == Done():
            waited = self._first_sights.begin(target.node.name, self._reader.runtime.monotonic())
            self._recorder.asked(target, request, what, case.warrant)
            self._recorder.started(target, what, waited if index == 0 else None)
        return outcome

    async def _withdraw(self, case: Case, request: Withdraw | Escalate) -> Outcome:
        if case.found is None:
            raise ValueError("there is nothing to withdraw")
        if isinstance(request, Escalate):
            # Before the deed: whoever comes after a crash would begin with the first remedy again.
            told = await self._reporter.write_down(case.target.check, self._moment())
            if told != Done() and not (isinstance(told, Retry) and told.refused):
                return told
        write = await self._second_look.before_withdraw(case.target, case.found)
        if isinstance(write, Hold):
            return self._hold(case.target)
        how = HowEnded.ESCALATED if isinstance(request, Escalate) else HowEnded.HEALED
        self._history.expect(case.found.record, how)
        outcome = await self._writer.write(write)
        if outcome == Done():
            self._recorder.asked(case.target, request, gather.reference_to(case.found.record), None)
        return outcome

    def _enter_begun(self, case: Case, what: ObjectReference, outcome: Outcome) -> None:
        if isinstance(outcome, Retry) and outcome.refused:
            self._enter(case, held_entry(Hold(CreationRefused(what.kind, outcome.why))))
            return
        # Also when nobody knows whether it was applied: the pace is for what may have begun.
        self._guarding.last_start = self._reader.runtime.monotonic()
        self._enter(case, REMEDIATING)

    def _hold(self, target: Target) -> Outcome:
        self._waiting.enter(target.node.name)
        self._ask_for(HeldKey(), waiting_room.LOOK_AGAIN)
        return Done()

    def _wake_held(self) -> Outcome:
        for name in self._waiting.wake():
            self._ask_for(TargetKey(name), 0.0)
        return RequeueAfter(waiting_room.EVERY) if self._waiting else Done()

    def _count_in(self, name: str, place: Place, health: NodeHealth, *, ordered: bool) -> None:
        """Count a target among the unwell before the guard is asked about it, if it is one."""
        known = self._guarding.standings.find(name)
        healthy = isinstance(health, Healthy) and not ordered
        if healthy or (known is not None and known.standing is not Standing.HEALTHY):
            return
        self._guarding.standings.enter(name, place, Entry(Standing.UNHEALTHY))

    def _enter(self, case: Case, written: Entry) -> None:
        target, place, before = case.target, case.place, case.before
        ordered_by = case.warrant.order.by if case.warrant else ""
        entry = replace(written, remedy=case.rung, ordered_by=ordered_by)
        self._guarding.standings.enter(target.node.name, place, entry)
        if before == (place, entry):
            return
        self._recorder.judged(target, before[1] if before else None, entry)
        self._ask_for_reports(place.check)
        if before is not None and before[0].check != place.check:
            self._ask_for_reports(before[0].check)

    def _strike(self, name: str) -> None:
        self._first_sights.forget(name)
        place = self._guarding.standings.strike(name)
        if place is not None:
            self._ask_for_reports(place.check)

    def _ask_for_reports(self, check: str) -> None:
        self._ask_for(CheckKey(check), REPORT_AT_MOST_EVERY)
        self._ask_for(PolicyKey(), REPORT_AT_MOST_EVERY)

    def _moment(self) -> Moment:
        runtime = self._reader.runtime
        return Moment(runtime.monotonic(), runtime.wall())
