"""Judges one machine at a time, and asks for what the verdict needs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, assert_never

from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.entries import entry_of, held_entry
from nodemend.controllers.checking.guarding import Guarding, stormy
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.standings import REMEDIATING
from nodemend.controllers.checking.waiting_room import A_MOMENT, WaitingRoom
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.machine_health_check import gather
from nodemend.controllers.machine_health_check.book import Case, Judgements, MachineBook
from nodemend.controllers.machine_health_check.deeds import Beginning, Deeds
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey, MachineKey, cluster_of
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.history import MachineHistory
from nodemend.controllers.machine_health_check.keys import HeldMachinesKey, HistoryKey, Key
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.controllers.machine_health_check.marking import Marking
from nodemend.controllers.machine_health_check.reporter import Counts, MachineReporter
from nodemend.controllers.machine_health_check.second_look import SecondLook
from nodemend.controllers.machine_health_check.unheeded import Unheeded
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.machine_health_check.wards import MachineSurroundings
from nodemend.decide.annotated_machine import Clear
from nodemend.decide.holds import Hold
from nodemend.decide.machine_marks import UNSURE
from nodemend.decide.machine_request import Ask, Delete, Request, decide_machine, is_at_work
from nodemend.decide.remediation_request import Create, Leave, Withdraw
from nodemend.kube.api_client import ApiClient
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter
from nodemend.kube.remediation_record import RemediationRecord

LEFT_BY_MARKS: Final = 50
"""Of the requests that we may make at once, those that marks leave to what heals, and to reports."""
LEFT_BY_BEGUN_MARKS: Final = 30
"""What was read for a mark was read in vain if others were read before it is written."""
LEFT_BY_REPORTS: Final = 25


Deed = Beginning | Withdraw | Clear


class MachineRecorder(Judgements, Counts, Protocol):
    """Told of verdicts and of what was done, for events, logs and metrics."""

    def asked(self, target: Target, deed: Deed) -> None: ...

    def started(self, target: Target, deed: Beginning, waited: float | None) -> None:
        """`waited` is since something was first seen to be wrong; None when it has begun before."""
        ...

    def unheeded(self, machine: MachineRecord, why: str) -> None:
        """An annotation asks for its remediation, and nothing is done about that."""
        ...

    def withdrew(self, machine: MachineRecord, record: RemediationRecord) -> None:
        """What no check of ours asks for any more."""
        ...


class MachineHealthCheckController:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(  # noqa: PLR0913 - what it sees, what it remembers, what it writes with, whom it tells
        self,
        view: MachineView,
        seen: MachineObservations,
        reader: Reader,
        client: ApiClient,
        recorder: MachineRecorder,
        ask_for: Callable[[Key, float], None],
        *,
        precautions: Precautions,
        asked: frozenset[MachineKey],
    ) -> None:
        """`asked` are the machines whose owners the last leadership asked."""
        self._view = view
        self._recorder = recorder
        self._ask_for = ask_for
        self._waiting: WaitingRoom[MachineKey] = WaitingRoom()
        runtime, writer = reader.runtime, Writer(client, reader.runtime)
        now = runtime.monotonic()
        weather = Weather(stormy_before=stormy(view.policies), now=now)
        for key in asked:
            view.fleet.note_begun(key, now)
        guarding = Guarding(MachineSurroundings(view), weather, last_start=now, doubt=reader.doubt)
        self._book = MachineBook(view, seen, guarding, runtime, recorder, self._ask_for_reports)
        self._history = MachineHistory(view, guarding.standings)
        self._unheeded = Unheeded(view.fleet, recorder.unheeded)
        patient = Reader(client.leaving(LEFT_BY_MARKS), runtime)
        self._marking = Marking(
            SecondLook(patient, view, guarding, precautions),
            Writer(client.leaving(LEFT_BY_BEGUN_MARKS), runtime),
            runtime,
        )
        self._deeds = Deeds(
            view,
            guarding,
            SecondLook(reader, view, guarding, precautions),
            writer,
            marking=self._marking,
            precautions=precautions,
            runtime=runtime,
        )
        reporting = Writer(client.leaving(LEFT_BY_REPORTS), runtime)
        self._reporter = MachineReporter(view, guarding, self._history, reporting, recorder)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case MachineKey():
                return await self._reconcile_machine(key)
            case MachineCheckKey():
                return await self._reporter.report(key, self._book.moment())
            case HistoryKey():
                # Before anybody is counted, nobody would be known to have healed.
                await self._book.count_everybody()
                return await self._reporter.report_history(self._book.moment())
            case HeldMachinesKey():
                return self._wake_held()

    async def _reconcile_machine(self, key: MachineKey) -> Outcome:
        self._waiting.leave(key)
        if not self._view.fleet.settled:
            return self._wait(key, None)
        await self._book.count_everybody()
        machine = self._view.fleet.machine(key)
        if machine is not None:
            await self._book.count_cluster(cluster_of(machine))
        machine, target = self._view.fleet.machine(key), gather.find_target(self._view, key)
        if machine is not None:
            outcome = await self._deeds.withdraw_abandoned(machine, target, self._recorder.withdrew)
            if outcome != Done():
                return outcome
        self._unheeded.look(key, machine, target)
        if target is None:
            self._book.strike(key)
            return Done()
        case = self._book.look(target)
        request = decide_machine(case.health, case.way, target.machine.marks, case.guarded)
        if not isinstance(request, Ask | Create | Delete):
            # The book is written before the deed: a deed that fails is tried again, the book still stands.
            hold = request if isinstance(request, Hold) else None
            self._book.enter(
                case, entry_of(case.health, hold, remediating=is_at_work(case.way, target.machine.marks))
            )
        return await self._act(case, request)

    async def _act(self, case: Case, request: Request) -> Outcome:
        match request:
            case Ask() | Create() | Delete():
                return await self._begin(case, request)
            case Withdraw():
                return self._finish(case, request, await self._deeds.withdraw(case.target))
            case Clear(value):
                return self._finish(case, request, await self._deeds.clear(case.target, value))
            case Hold():
                return self._or_wait(case, await self._marking.tell(case, request), wait=True)
            case Leave(again_in):
                outcome = self._or_wait(case, await self._marking.tell(case, request), wait=_is_open(case))
                soon = again_in is not None and outcome == Done()
                return RequeueAfter((again_in or 0.0) + A_MOMENT) if soon else outcome
            case _:
                assert_never(request)

    async def _begin(self, case: Case, request: Beginning) -> Outcome:
        begun = await self._deeds.begin(case, request)
        if not isinstance(begun, Hold):
            self._book.enter(case, REMEDIATING)
            if begun == Done():
                waited = self._book.first_sights.begin(case.ward.name, self._book.moment().now)
                self._recorder.started(case.target, request, waited)
                self._note_deletion(case.target, request)
            return self._finish(case, request, begun)
        self._book.enter(case, held_entry(begun))
        case = replace(case, guarded=begun)
        return self._or_wait(case, await self._marking.tell(case, begun), wait=True)

    def _note_deletion(self, target: Target, request: Beginning) -> None:
        if isinstance(request, Delete):
            now = print_time(self._book.moment().wall)
            self._history.note_deletion(target.machine, target.check.name, now)

    def _ask_for_reports(self, check: MachineCheckKey, after: float) -> None:
        self._ask_for(check, after)
        self._ask_for(HistoryKey(), after)

    def _finish(self, case: Case, deed: Deed, done: Outcome | Hold) -> Outcome:
        if done == Done():
            self._recorder.asked(case.target, deed)
        return self._or_wait(case, done, wait=isinstance(done, Hold))

    def _or_wait(self, case: Case, done: Outcome | Hold, *, wait: bool) -> Outcome:
        if not wait and not isinstance(done, Hold):
            return done
        hold = done if isinstance(done, Hold) else case.guarded
        waiting = self._wait(case.target.key, hold if isinstance(hold, Hold) else None)
        return waiting if isinstance(done, Hold) else done

    def _wait(self, key: MachineKey, hold: Hold | None) -> Outcome:
        self._ask_for(HeldMachinesKey(), self._waiting.enter(key, hold, self._book.moment().now))
        return Done()

    def _wake_held(self) -> Outcome:
        now = self._book.moment().now
        for held in self._waiting.wake(now):
            self._ask_for(held, 0.0)
        again_in = self._waiting.again_in(now)
        return Done() if again_in is None else RequeueAfter(again_in)


def _is_open(case: Case) -> bool:
    """Whether it must be looked at again though nothing changes about itself.

    What nobody could vouch for was not written down; and what no owner has begun is taken back in a storm.
    """
    unsure = isinstance(case.guarded, Hold) and isinstance(case.guarded.reason, UNSURE)
    return unsure or case.target.machine.marks.not_begun
