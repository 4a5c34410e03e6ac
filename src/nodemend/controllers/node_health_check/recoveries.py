"""Begins recoveries, and ends them."""

from typing import assert_never

from nodemend.api.node_health_check import Recovery
from nodemend.controllers.checking.entries import held_entry
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.standings import Place
from nodemend.controllers.checking.waiting_room import LOOK_AGAIN
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.recovery_book import RecoveryBook
from nodemend.controllers.node_health_check.second_look import SecondLook
from nodemend.controllers.node_health_check.wards import ward_of
from nodemend.decide.holds import CreationRefused, Hold
from nodemend.decide.recovery import PASSES, Begin, End, Owe, Step
from nodemend.decide.storm_guard import guard
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry


class Recoveries:
    """Serves one leadership."""

    def __init__(
        self,
        view: View,
        book: RecoveryBook,
        guarding: Guarding,
        second_look: SecondLook,
        writer: Writer,
        precautions: Precautions,
    ) -> None:
        self._view = view
        self._book = book
        self._guarding = guarding
        self._second_look = second_look
        self._writer = writer
        self._turn = precautions.turn
        self._open = precautions.open_remediations

    async def act(self, target: Target, place: Place, step: Step, moment: Moment) -> Outcome:
        match step:
            case Owe():
                # The report is asked for, and wakes us when it is written.
                return RequeueAfter(LOOK_AGAIN)
            case Begin():
                recovery = target.check.spec.recovery
                if recovery is None:
                    raise ValueError("the check names no recovery")
                return await self._begin(target, place, recovery, moment)
            case End():
                return await self._end(target)
            case _:
                assert_never(step)

    async def _begin(self, target: Target, place: Place, recovery: Recovery, moment: Moment) -> Outcome:
        facts = self._guarding.facts_of(ward_of(target, moment.wall), place, moment)
        guarded = guard(facts, PASSES)
        if isinstance(guarded, Hold):
            return self._hold(target, guarded)
        # Nobody may begin on the same node meanwhile.
        async with self._turn.taken():
            write = await self._second_look.before_recovery(target, place, recovery)
            if isinstance(write, Hold):
                return self._hold(target, write)
            self._open.forget()
            outcome = await self._writer.write(write)
        if isinstance(outcome, Retry) and outcome.refused:
            kind = recovery.template.kind.removesuffix("Template")
            self._hold(target, Hold(CreationRefused(kind, outcome.why)))
        elif outcome == Done():
            self._book.hold(target, "")
        return outcome

    def _hold(self, target: Target, hold: Hold) -> Outcome:
        """The node is healthy and counts as that: only its recovery says why it waits."""
        self._book.hold(target, held_entry(hold).message)
        return RequeueAfter(LOOK_AGAIN)

    async def _end(self, target: Target) -> Outcome:
        node = target.node
        record = gather.find_recovery(self._view, target.check, node.name, node.uid)
        if record is None:
            raise ValueError("there is no recovery to end")
        write = await self._second_look.before_end(record)
        if isinstance(write, Hold):
            return RequeueAfter(LOOK_AGAIN)
        self._open.forget()
        return await self._writer.write(write)
