"""Judges one target at a time, and asks for what the verdict needs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, assert_never

from nodemend.api.event import ObjectReference
from nodemend.api.node_health_check import HowEnded
from nodemend.controllers.checking.entries import entry_of, held_entry
from nodemend.controllers.checking.guarding import Guarding, stormy
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.open_remediations import AHEAD
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.report_pace import REPORT_AT_MOST_EVERY
from nodemend.controllers.checking.standings import REMEDIATING, Entry
from nodemend.controllers.checking.waiting_room import A_MOMENT, WaitingRoom
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.book import Case, Judgements, NodeBook
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.history import History
from nodemend.controllers.node_health_check.keys import (
    AheadKey,
    CheckKey,
    EverybodyKey,
    HeldKey,
    Key,
    PolicyKey,
    TargetKey,
)
from nodemend.controllers.node_health_check.order_ends import Lapses, OrderEnds
from nodemend.controllers.node_health_check.orders import Orders, Warrant
from nodemend.controllers.node_health_check.orphans import OrphanRecorder, Orphans
from nodemend.controllers.node_health_check.recoveries import Recoveries
from nodemend.controllers.node_health_check.reporter import Counts, Reporter
from nodemend.controllers.node_health_check.rungs import Rungs
from nodemend.controllers.node_health_check.second_look import SecondLook
from nodemend.controllers.node_health_check.surroundings import NodeSurroundings
from nodemend.decide.holds import CreationRefused, Hold
from nodemend.decide.recovery import Begin, End, Owe
from nodemend.decide.remediation_request import Create, Escalate, Leave, Request, Withdraw, decide
from nodemend.kube.api_client import ApiClient
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry


class Recorder(Judgements, Counts, OrphanRecorder, Lapses, Protocol):
    """Told of verdicts and of what was done, for events, logs and metrics."""

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
        precautions: Precautions,
    ) -> None:
        self._view = view
        self._recorder = recorder
        self._ask_for = ask_for
        self._turn = precautions.turn
        self._open = precautions.open_remediations
        self._waiting: WaitingRoom[str] = WaitingRoom()
        self._rungs = Rungs(view)
        runtime, now = reader.runtime, reader.runtime.monotonic()
        # When the last leadership began its last remediation is not known: it may have been just now.
        weather = Weather(stormy_before=stormy(view.policies), now=now)
        self._guarding = Guarding(
            NodeSurroundings(view, seen.roll), weather, last_start=now, doubt=reader.doubt
        )
        orders = Orders(view, seen.orders, reader)
        self._book = NodeBook(
            view,
            seen,
            self._guarding,
            orders,
            runtime=runtime,
            judgements=recorder,
            ask_for_look=self._look_at,
            ask_for_reports=self._ask_for_reports,
            rungs=self._rungs,
        )
        self._second_look = SecondLook(reader, view, self._guarding, orders, precautions)
        self._writer = Writer(client, runtime)
        self._order_ends = OrderEnds(view, orders, self._writer, recorder)
        self._history = History(seen.endings, self._guarding.standings)
        self._reporter = Reporter(
            view, self._guarding, self._history, self._book.recoveries, self._writer, recorder
        )
        self._recoveries = Recoveries(
            view, self._book.recoveries, self._guarding, self._second_look, self._writer, precautions
        )
        self._orphans = Orphans(view, reader, self._writer, recorder, self._history)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case TargetKey(node):
                return await self._reconcile_target(node)
            case CheckKey(check):
                # A report before anybody is counted would say that there is nobody.
                await self._book.count_everybody()
                return await self._reporter.report_check(check, self._book.moment())
            case PolicyKey():
                await self._book.count_everybody()
                return await self._reporter.report_policy(self._book.moment())
            case HeldKey():
                return self._wake_held()
            case EverybodyKey():
                await self._book.count_everybody()
                for name in self._book.concerned():
                    self._look_at(name)
                return Done()
            case AheadKey():
                await self._open.look_ahead()
                return Done()

    async def _reconcile_target(self, name: str) -> Outcome:
        self._waiting.leave(name)
        target = gather.find_target(self._view, name)
        if target is None:
            return await self._leave(name)
        await self._book.count_everybody()
        withdrawn = await self._orphans.withdraw(name, target)
        if withdrawn is not None:
            return withdrawn
        case = self._book.look(target)
        wishes, ordered = gather.wishes_of(target), case.weighed.stands
        wanted = decide(case.health, case.existing, case.guarded, wishes, ordered=ordered)
        moment = self._book.moment()
        step = self._book.recoveries.decide(target, case.health, case.found, wanted, moment.now)
        request = Leave() if isinstance(step, Owe | Begin | End) else step
        rung = self._rungs.note(target, case.health, case.ours, request)
        if not isinstance(request, Create):
            hold = request if isinstance(request, Hold) else None
            # The book is written before the deed: a deed that fails is tried again, the book still stands.
            self._enter(case, rung, entry_of(case.health, hold, remediating=case.ours is not None))
        if isinstance(step, Owe | Begin | End):
            outcome = await self._recoveries.act(target, case.place, step, moment)
            writes = outcome == Done()
        else:
            outcome = await self._act(case, rung, request)
            writes = isinstance(request, Create | Withdraw | Escalate)
        # One write a pass, and what heals goes first.
        return outcome if writes else await self._order_ends.end(target, case.weighed) or outcome

    async def _leave(self, name: str) -> Outcome:
        """Not a target: no check selects it, or its Node is gone."""
        counts_for = self._book.leave(name)
        withdrawn = await self._orphans.withdraw(name, None)
        if withdrawn is not None:
            return withdrawn
        outcome = await self._order_ends.end_stray(name, self._book.moment().now)
        return RequeueAfter(counts_for) if counts_for is not None and outcome == Done() else outcome

    async def _act(self, case: Case, rung: int, request: Request) -> Outcome:
        match request:
            case Create():
                return await self._create(case, rung, request)
            case Withdraw() | Escalate():
                return await self._withdraw(case, request)
            case Leave(again_in):
                return Done() if again_in is None else self._wait(case, again_in)
            case Hold():
                return self._hold(case.target, request)
            case _:
                assert_never(request)

    def _wait(self, case: Case, seconds: float) -> Outcome:
        if case.found is None and seconds > AHEAD:
            self._ask_for(AheadKey(case.target.node.name), seconds - AHEAD)
        return RequeueAfter(seconds + A_MOMENT)

    async def _create(self, case: Case, rung: int, request: Create) -> Outcome:
        target, index = case.target, self._rungs.next_of(case.target)
        what = gather.would_create(target, target.check.spec.remedies[index].template)
        # The guard counts what is open: two creations at once could both find room for one.
        async with self._turn.taken():
            write = await self._second_look.before_create(target, case.place, index, case.warrant)
            if not isinstance(write, Hold):
                # Before the deed: whoever comes after a crash must not follow one order twice.
                write = await self._order_ends.take_up(target, case.warrant) or write
            if isinstance(write, Hold):
                self._enter(case, rung, held_entry(write))
                return self._hold(target, write)
            self._open.forget()
            outcome = await self._writer.write(write)
            self._order_ends.note(target, case.warrant, outcome)
            self._enter(case, rung, self._begun(what, outcome))
        if outcome == Done():
            waited = self._book.first_sights.begin(target.node.name, self._book.moment().now)
            self._recorder.asked(target, request, what, case.warrant)
            self._recorder.started(target, what, waited if index == 0 else None)
        return outcome

    async def _withdraw(self, case: Case, request: Withdraw | Escalate) -> Outcome:
        if case.found is None:
            raise ValueError("there is nothing to withdraw")
        if isinstance(request, Escalate):
            # Before the deed: whoever comes after a crash would begin with the first remedy again.
            told = await self._reporter.write_down(case.target.check, self._book.moment())
            if told != Done() and not (isinstance(told, Retry) and told.refused):
                return told
        write = await self._second_look.before_withdraw(case.target, case.found)
        if isinstance(write, Hold):
            return self._hold(case.target, write)
        how = HowEnded.ESCALATED if isinstance(request, Escalate) else HowEnded.HEALED
        self._history.expect(case.found.record, how)
        self._open.forget()
        outcome = await self._writer.write(write)
        if outcome == Done():
            self._recorder.asked(case.target, request, gather.reference_to(case.found.record), None)
        return outcome

    def _begun(self, what: ObjectReference, outcome: Outcome) -> Entry:
        if isinstance(outcome, Retry) and outcome.refused:
            return held_entry(Hold(CreationRefused(what.kind, outcome.why)))
        # Also when nobody knows whether it was applied: the pace is for what may have begun.
        self._guarding.last_start = self._book.moment().now
        return REMEDIATING

    def _enter(self, case: Case, rung: int, entry: Entry) -> None:
        ordered_by = case.warrant.order.by if case.warrant else ""
        self._book.enter(case, replace(entry, remedy=rung, ordered_by=ordered_by))

    def _hold(self, target: Target, hold: Hold) -> Outcome:
        now = self._book.moment().now
        self._ask_for(HeldKey(), self._waiting.enter(target.node.name, hold, now))
        return Done()

    def _wake_held(self) -> Outcome:
        now = self._book.moment().now
        for name in self._waiting.wake(now):
            self._look_at(name)
        again_in = self._waiting.again_in(now)
        return Done() if again_in is None else RequeueAfter(again_in)

    def _look_at(self, name: str) -> None:
        self._ask_for(TargetKey(name), 0.0)

    def _ask_for_reports(self, check: str) -> None:
        self._ask_for(CheckKey(check), REPORT_AT_MOST_EVERY)
        self._ask_for(PolicyKey(), REPORT_AT_MOST_EVERY)
