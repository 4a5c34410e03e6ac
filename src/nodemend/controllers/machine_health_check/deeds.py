"""What is done for one machine: begin with it, take back what was asked."""

from collections.abc import Callable
from typing import assert_never

from nodemend.controllers.checking.guarding import Guarding
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.withdrawal import withdraw_remediation
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.machine_health_check import act, gather
from nodemend.controllers.machine_health_check.book import Case
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.marking import Marking
from nodemend.controllers.machine_health_check.second_look import Fresh, SecondLook
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.machine_request import Ask, Delete, marks_for, without_template
from nodemend.decide.node_health import Unhealthy
from nodemend.decide.remediation_request import Create
from nodemend.decide.storm_guard import Go
from nodemend.kube.api_request import Request as Write
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.ports import Runtime
from nodemend.kube.reconcile_loop import Done, Outcome
from nodemend.kube.remediation_record import RemediationRecord

Beginning = Ask | Create | Delete


class Deeds:
    """Every one looks a second time, and names the version that it rests on."""

    def __init__(  # noqa: PLR0913 - what it sees, whom it asks, what it writes with
        self,
        view: MachineView,
        guarding: Guarding,
        second_look: SecondLook,
        writer: Writer,
        *,
        marking: Marking,
        precautions: Precautions,
        runtime: Runtime,
    ) -> None:
        self._view = view
        self._guarding = guarding
        self._second_look = second_look
        self._writer = writer
        self._marking = marking
        self._turn = precautions.turn
        self._open = precautions.open_remediations
        self._runtime = runtime

    async def begin(self, case: Case, request: Beginning) -> Outcome | Hold:
        """A fresh look outside the turn, which may take as long as a slow cluster does; the rest inside."""
        fresh = await self._second_look.machine(case.target)
        if isinstance(fresh, Hold):
            return fresh
        if not isinstance(case.health, Unhealthy):
            raise TypeError(f"nothing is begun for a machine that is {case.health}")
        if case.target.by_annotation:
            doubt = await self._second_look.still_asked(case.target, fresh)
        else:
            doubt = await self._second_look.still(case.health.match, fresh)
        if doubt is not None:
            return doubt
        async with self._turn.taken():
            guarded = await self._second_look.guard(case.target, case.place)
            if isinstance(guarded, Hold):
                return guarded
            write = await self._write_for(case, request, fresh)
            if isinstance(write, Hold):
                return write
            # Also when nobody will know whether it was applied: pace and count are for what may have begun.
            self._guarding.last_start = self._runtime.monotonic()
            self._view.fleet.note_begun(case.target.key, self._guarding.last_start)
            self._open.forget()
            return await self._writer.write(write)

    async def withdraw(self, target: Target) -> Outcome | Hold:
        record = gather.find_remediation(self._view, target)
        if record is None:
            return Done()
        write = await self._second_look.before_withdraw(target, record)
        if isinstance(write, Hold):
            return write
        self._open.forget()
        return await self._writer.write(write)

    async def clear(self, target: Target, value: str) -> Outcome | Hold:
        """Take off the annotation that has been answered: just the one with this value."""
        write = await self._second_look.before_clear(target, value)
        return write if isinstance(write, Hold) else await self._writer.write(write)

    async def withdraw_abandoned(
        self,
        machine: MachineRecord,
        target: Target | None,
        tell: Callable[[MachineRecord, RemediationRecord], None],
    ) -> Outcome:
        """What we once asked for and nobody wants any more. What has released something ends by itself."""
        for record in gather.abandoned(self._view, machine, target):
            if not _committed(record):
                outcome = await self._writer.write(withdraw_remediation(record))
                if outcome != Done():
                    return outcome
                tell(machine, record)
        return Done()

    async def _write_for(self, case: Case, request: Beginning, fresh: Fresh) -> Write | Hold:
        match request:
            case Ask():
                health = await self._second_look.with_reasons(case.health, fresh.machine)
                wanted = marks_for(health, case.way, fresh.machine.marks, Go(), request)
                return self._marking.write_for(case.target, fresh, wanted)
            case Delete():
                return act.delete_machine(fresh.machine, fresh.version)
            case Create():
                return await self._create(case, fresh)
            case _:
                assert_never(request)

    async def _create(self, case: Case, fresh: Fresh) -> Write | Hold:
        write = await self._second_look.from_template(case.target)
        if isinstance(write, Hold):
            why = explain(write.reason).sentence
            health = await self._second_look.with_reasons(case.health, fresh.machine)
            wanted = without_template(health, fresh.machine.marks, why)
            await self._marking.mark(case.target, fresh, wanted)
        return write


def _committed(record: RemediationRecord) -> bool:
    """Something was released, or may have been: only the remediator knows when it is over."""
    return record.says("Fenced") == "True" and record.says("Succeeded") != "True"
