"""Reconciles one Machine at a time, and requests the remediation that its verdict needs.

The verdict is also written to the conditions of the Machine, for its owner and for users.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, assert_never

from nodemend.api.meta import print_time
from nodemend.guard.evaluator import GuardEvaluator
from nodemend.guard.state import (
    A_MOMENT,
    REMEDIATING,
    HeldQueue,
    held_target_status,
    target_status,
)
from nodemend.health.creation import CreationContext, Writer, delete_remediation
from nodemend.health.machine import preflight as act
from nodemend.health.machine import targets
from nodemend.health.machine.annotation import Clear
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.index import MachineCheckKey, MachineKey, cluster_of
from nodemend.health.machine.preflight import Fresh, MachinePreflight
from nodemend.health.machine.report import MachineHistory, MachineReporter
from nodemend.health.machine.request import (
    AskOwnerByCondition,
    Delete,
    MachineAction,
    Request,
    StartAction,
    decide_machine,
    health_conditions_for,
    is_remediating,
    without_template,
)
from nodemend.health.machine.targets import (
    IgnoredAnnotations,
    MachineGuardInputs,
    MachineObservations,
    MachineTarget,
    MachineView,
)
from nodemend.health.machine.tracker import MachineEvaluation, MachineTracker
from nodemend.health.remediation_index import may_withdraw
from nodemend.health.reporting import REPORT_AT_MOST_EVERY
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Done, Outcome, RequeueAfter
from nodemend.kube.request import Request as Write
from nodemend.records.live_reads import LiveReader
from nodemend.records.machine import MachineRecord, with_marks
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.machine import UNSURE, HealthConditions
from nodemend.rules.node import Unhealthy
from nodemend.rules.request import Create, DeleteRemediation, NoAction
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold


@dataclass(frozen=True, slots=True)
class HeldMachinesKey:
    """Wakes held Machines."""


@dataclass(frozen=True, slots=True)
class HistoryKey:
    """The history of Machine remediations in the status of the RemediationPolicy."""


Key = MachineKey | MachineCheckKey | HeldMachinesKey | HistoryKey


@dataclass(frozen=True, slots=True)
class MachineConditions:
    """Writes conditions. They heal nothing, so `preflight` and `writer` leave requests to remediations."""

    preflight: MachinePreflight
    writer: Writer

    async def tell(self, case: MachineEvaluation, request: Request) -> Outcome | Hold:
        """Write the conditions if they differ; return a hold if the Machine cannot be read now."""
        target = case.target
        shown = target.machine.marks
        if not _takes_marks(target):
            return Done()
        if health_conditions_for(case.health, case.way, shown, case.guarded, request) == shown:
            return Done()
        fresh = await self.preflight.machine(target)
        if isinstance(fresh, Hold):
            return fresh
        health = await self.preflight.with_reasons(case.health, fresh.machine)
        wanted = health_conditions_for(health, case.way, fresh.machine.marks, case.guarded, request)
        return await self.mark(target, fresh, wanted)

    async def mark(self, target: MachineTarget, fresh: Fresh, wanted: HealthConditions) -> Outcome:
        if wanted == fresh.machine.marks or not _takes_marks(target):
            return Done()
        return await self.writer.write(self.write_for(target, fresh, wanted))

    def write_for(self, target: MachineTarget, fresh: Fresh, wanted: HealthConditions) -> Write:
        now = print_time(self.writer.runtime.wall())
        conditions = with_marks(fresh.conditions, wanted, target.flavor, now)
        return act.write_conditions(fresh.machine, fresh.version, conditions)


def _takes_marks(target: MachineTarget) -> bool:
    """True if a check may write conditions. For an annotation, another project's check may write them."""
    return target.flavor.owners_read_conditions and not target.by_annotation


@dataclass(frozen=True, slots=True)
class MachineActions:
    """Each action repeats its checks by live reads, and its write names the version on which it relies."""

    view: MachineView
    evaluator: GuardEvaluator
    preflight: MachinePreflight
    writer: Writer
    marking: MachineConditions
    creation_context: CreationContext

    async def begin(self, case: MachineEvaluation, request: StartAction) -> Outcome | Hold:
        """Start a remediation, or return the hold that prevents it.

        The Machine and its node are read before the semaphore is taken, since a slow cluster may delay that;
        all other checks and the write run inside it.
        """
        fresh = await self.preflight.machine(case.target)
        if isinstance(fresh, Hold):
            return fresh
        if not isinstance(case.health, Unhealthy):
            raise TypeError(f"nothing is begun for a machine that is {case.health}")
        if case.target.by_annotation:
            objection = await self.preflight.still_asked(case.target, fresh)
        else:
            objection = await self.preflight.still(case.health.match, fresh)
        if objection is not None:
            return objection
        async with self.creation_context.turn.taken():
            guarded = await self.preflight.guard(case.target, case.placed)
            if isinstance(guarded, Hold):
                return guarded
            write = await self._write_for(case, request, fresh)
            if isinstance(write, Hold):
                return write
            # Set it even if the write's outcome is unknown: interval and counts include possible starts.
            self.evaluator.last_start = self.writer.runtime.monotonic()
            self.view.machine_index.note_begun(case.target.key, self.evaluator.last_start)
            self.creation_context.open_remediations.forget()
            return await self.writer.write(write)

    async def withdraw(self, target: MachineTarget) -> Outcome | Hold:
        record = targets.find_remediation(self.view, target)
        if record is None:
            return Done()
        write = await self.preflight.before_withdraw(target, record)
        if isinstance(write, Hold):
            return write
        self.creation_context.open_remediations.forget()
        return await self.writer.write(write)

    async def clear(self, target: MachineTarget, value: str) -> Outcome | Hold:
        """Remove the annotation after its request is settled, only if it still has this value."""
        write = await self.preflight.before_clear(target, value)
        return write if isinstance(write, Hold) else await self.writer.write(write)

    async def withdraw_abandoned(
        self,
        machine: MachineRecord,
        target: MachineTarget | None,
        tell: Callable[[MachineRecord, RemediationRecord], None],
    ) -> Outcome:
        """Delete remediations that Nodemend created and that no check requests any longer.

        A remediation that has released something ends by itself.
        """
        for record in targets.abandoned(self.view, machine, target):
            if may_withdraw(record):
                outcome = await self.writer.write(delete_remediation(record))
                if outcome != Done():
                    return outcome
                tell(machine, record)
        return Done()

    async def _write_for(self, case: MachineEvaluation, request: StartAction, fresh: Fresh) -> Write | Hold:
        match request:
            case AskOwnerByCondition():
                health = await self.preflight.with_reasons(case.health, fresh.machine)
                wanted = health_conditions_for(health, case.way, fresh.machine.marks, Allowed(), request)
                return self.marking.write_for(case.target, fresh, wanted)
            case Delete():
                return act.delete_machine(fresh.machine, fresh.version)
            case Create():
                return await self._create(case, fresh)
            case _:
                assert_never(request)

    async def _create(self, case: MachineEvaluation, fresh: Fresh) -> Write | Hold:
        write = await self.preflight.from_template(case.target)
        if isinstance(write, Hold):
            why = write.reason.explain().sentence
            health = await self.preflight.with_reasons(case.health, fresh.machine)
            wanted = without_template(health, fresh.machine.marks, why)
            await self.marking.mark(case.target, fresh, wanted)
        return write


LEFT_BY_MARKS: Final = 50
"""Requests of the rate limit that condition writes leave to remediations and reports."""
LEFT_BY_BEGUN_MARKS: Final = 30
"""Fewer for the write itself: if reads for other conditions used up the rate before it, the live read that
precedes it would be wasted."""
LEFT_BY_REPORTS: Final = 25


class MachineHealthCheckController:
    """The controller for one leader term. `client` must refuse writes after that term."""

    def __init__(  # noqa: PLR0913 - caches, observations, clients and recorder
        self,
        view: MachineView,
        seen: MachineObservations,
        reader: LiveReader,
        client: ApiClient,
        recorder: MachineHealthCheckRecorder,
        ask_for: Callable[[Key, float], None],
        *,
        creation_context: CreationContext,
        asked: frozenset[MachineKey],
    ) -> None:
        """`asked`: the Machines whose owners were already requested to act when this leader term began."""
        self._view = view
        self._recorder = recorder
        self._ask_for = ask_for
        self._waiting: HeldQueue[MachineKey] = HeldQueue()
        runtime, writer = reader.runtime, Writer(client, reader.runtime)
        now = runtime.monotonic()
        for key in asked:
            view.machine_index.note_begun(key, now)
        inputs = MachineGuardInputs(view)
        evaluator = GuardEvaluator(inputs, now=now, last_start=now, problem=reader.problem)
        self._tracker = MachineTracker(view, seen, evaluator, runtime, recorder, self._ask_for_reports)
        self._history = MachineHistory(view, evaluator.target_index)
        self._ignored = IgnoredAnnotations(view.machine_index, recorder.annotation_ignored)
        patient = LiveReader(client.leaving(LEFT_BY_MARKS), runtime)
        self._marking = MachineConditions(
            MachinePreflight(patient, view, evaluator, creation_context),
            Writer(client.leaving(LEFT_BY_BEGUN_MARKS), runtime),
        )
        self._actions = MachineActions(
            view,
            evaluator,
            MachinePreflight(reader, view, evaluator, creation_context),
            writer,
            marking=self._marking,
            creation_context=creation_context,
        )
        reporting = Writer(client.leaving(LEFT_BY_REPORTS), runtime)
        self._reporter = MachineReporter(view, evaluator, self._history, reporting, recorder)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case MachineKey():
                return await self._reconcile_machine(key)
            case MachineCheckKey():
                return await self._reporter.report(key, self._tracker.moment())
            case HistoryKey():
                # Count first: without counts no Machine is known to be Healthy, so none would be healed.
                await self._tracker.rebuild_counts()
                return await self._reporter.report_history(self._tracker.moment())
            case HeldMachinesKey():
                return self._wake_held()

    async def _reconcile_machine(self, key: MachineKey) -> Outcome:
        self._waiting.leave(key)
        if not self._view.machine_index.settled:
            return self._wait(key, None)
        await self._tracker.rebuild_counts()
        machine_index = self._view.machine_index
        machine = machine_index.machine(key)
        if machine is not None:
            await self._tracker.count_cluster(cluster_of(machine))
        machine, target = machine_index.machine(key), targets.find_target(machine_index, key)
        if machine is not None:
            outcome = await self._actions.withdraw_abandoned(machine, target, self._recorder.withdrew)
            if outcome != Done():
                return outcome
        self._ignored.evaluate(key, machine, target)
        if target is None:
            self._tracker.remove(key)
            return Done()
        case = self._tracker.evaluate(target)
        request = decide_machine(case.health, case.way, target.machine.marks, case.guarded)
        if not isinstance(request, AskOwnerByCondition | Create | Delete):
            # Record the state before acting. A failed action is retried; the recorded state stays valid.
            hold = request if isinstance(request, Hold) else None
            self._tracker.upsert(
                case,
                target_status(case.health, hold, remediating=is_remediating(case.way, target.machine.marks)),
            )
        return await self._act(case, request)

    async def _act(self, case: MachineEvaluation, request: Request) -> Outcome:
        match request:
            case AskOwnerByCondition() | Create() | Delete():
                return await self._begin(case, request)
            case DeleteRemediation():
                return self._finish(case, request, await self._actions.withdraw(case.target))
            case Clear(value):
                return self._finish(case, request, await self._actions.clear(case.target, value))
            case Hold():
                return self._or_wait(case, await self._marking.tell(case, request), wait=True)
            case NoAction(again_in):
                outcome = self._or_wait(case, await self._marking.tell(case, request), wait=_is_open(case))
                soon = again_in is not None and outcome == Done()
                return RequeueAfter((again_in or 0.0) + A_MOMENT) if soon else outcome
            case _:
                assert_never(request)

    async def _begin(self, case: MachineEvaluation, request: StartAction) -> Outcome:
        begun = await self._actions.begin(case, request)
        if not isinstance(begun, Hold):
            self._tracker.upsert(case, REMEDIATING)
            if begun == Done():
                waited = self._tracker.unhealthy_since.begin(
                    case.placed.target.name, self._tracker.moment().now
                )
                self._recorder.started(case.target, request, waited)
                if isinstance(request, Delete):
                    deleted_at = print_time(self._tracker.moment().wall)
                    self._history.note_deletion(case.target.machine, case.target.check.name, deleted_at)
            return self._finish(case, request, begun)
        self._tracker.upsert(case, held_target_status(begun))
        case = replace(case, guarded=begun)
        return self._or_wait(case, await self._marking.tell(case, begun), wait=True)

    def _ask_for_reports(self, check: MachineCheckKey) -> None:
        self._ask_for(check, REPORT_AT_MOST_EVERY)
        self._ask_for(HistoryKey(), REPORT_AT_MOST_EVERY)

    def _finish(self, case: MachineEvaluation, action: MachineAction, done: Outcome | Hold) -> Outcome:
        if done == Done():
            self._recorder.asked(case.target, action)
        return self._or_wait(case, done, wait=False)

    def _or_wait(self, case: MachineEvaluation, done: Outcome | Hold, *, wait: bool) -> Outcome:
        """Return the outcome. The target waits for its next evaluation if it is held, or if `wait` is set."""
        if isinstance(done, Hold):
            return self._wait(case.target.key, done)
        if wait:
            self._wait(case.target.key, case.guarded if isinstance(case.guarded, Hold) else None)
        return done

    def _wait(self, key: MachineKey, hold: Hold | None) -> Outcome:
        self._ask_for(HeldMachinesKey(), self._waiting.upsert(key, hold, self._tracker.moment().now))
        return Done()

    def _wake_held(self) -> Outcome:
        now = self._tracker.moment().now
        for held in self._waiting.wake(now):
            self._ask_for(held, 0.0)
        again_in = self._waiting.again_in(now)
        return Done() if again_in is None else RequeueAfter(again_in)


def _is_open(case: MachineEvaluation) -> bool:
    """Return True if the target must be re-evaluated although nothing about it changes.

    A verdict based on unreliable data was not written to its conditions, and a storm withdraws a request that
    its owner has not started to serve.
    """
    unsure = isinstance(case.guarded, Hold) and isinstance(case.guarded.reason, UNSURE)
    return unsure or case.target.machine.marks.not_begun
