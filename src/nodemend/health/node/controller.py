"""Reconciles NodeHealthCheck targets: evaluates one node at a time and does what the verdict requires."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from nodemend.api.node_health_check import HowEnded, Recovery
from nodemend.api.upstream_types import ObjectReference, reference_to
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import (
    A_MOMENT,
    RECHECK_INTERVAL,
    REMEDIATING,
    HeldQueue,
    PlacedTarget,
    TargetStatus,
    held_target_status,
    target_status,
)
from nodemend.health.conditions import ObservationCache
from nodemend.health.creation import CreationContext, Writer
from nodemend.health.node import targets
from nodemend.health.node.cleanup import OrderLifecycle, Orphans
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.preflight import NodePreflight, Orders
from nodemend.health.node.report import History, NodeReporter
from nodemend.health.node.targets import NodeGuardInputs, NodeTarget, NodeView
from nodemend.health.node.tracker import (
    EscalationTracker,
    NodeEvaluation,
    NodeTracker,
)
from nodemend.health.remediation_index import AHEAD
from nodemend.health.reporting import REPORT_AT_MOST_EVERY
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Done, Outcome, RequeueAfter, Retry
from nodemend.records.live_reads import LiveReader
from nodemend.rules.request import (
    PASSES,
    Create,
    CreateRecovery,
    CreationRefused,
    DeleteRecovery,
    DeleteRemediation,
    Escalate,
    MarkRecoveryPending,
    NoAction,
    Request,
    Step,
    decide,
)
from nodemend.safety.guard import guard
from nodemend.safety.holds import Hold


@dataclass(frozen=True, slots=True)
class TargetKey:
    node: str


@dataclass(frozen=True, slots=True)
class CheckKey:
    check: str


@dataclass(frozen=True, slots=True)
class PolicyKey:
    """The status of the policy, for the whole cluster."""


@dataclass(frozen=True, slots=True)
class HeldKey:
    """All held targets."""


@dataclass(frozen=True, slots=True)
class AllTargetsKey:
    """All targets, for a new leader or new rules. Healthy nodes cost only a count."""

    def __str__(self) -> str:
        return "EverybodyKey()"


@dataclass(frozen=True, slots=True)
class PrefetchKey:
    """A node whose deadline is near: prefetch the live list that its decision needs."""

    node: str

    def __str__(self) -> str:
        return f"AheadKey(node={self.node!r})"


ActionKey = TargetKey | HeldKey | AllTargetsKey
BackgroundKey = CheckKey | PolicyKey | PrefetchKey
"""Keys with a separate queue, so that no report and no prefetch delays an action."""
Key = ActionKey | BackgroundKey


class NodeHealthCheckController:
    """Serves one leader term. `client` must refuse writes after the term ends."""

    def __init__(  # noqa: PLR0913 - caches, remembered state, client and callbacks
        self,
        view: NodeView,
        seen: ObservationCache,
        reader: LiveReader,
        client: ApiClient,
        recorder: NodeHealthCheckRecorder,
        ask_for: Callable[[Key, float], None],
        *,
        creation_context: CreationContext,
    ) -> None:
        self._view = view
        self._recorder = recorder
        self._ask_for = ask_for
        self._turn = creation_context.turn
        self._open = creation_context.open_remediations
        self._waiting: HeldQueue[str] = HeldQueue()
        self._escalation = EscalationTracker(view)
        runtime, now = reader.runtime, reader.runtime.monotonic()
        inputs = NodeGuardInputs(view, seen.control_plane_index)
        # The previous leader may have started a remediation just now, so the start interval counts from now.
        self._evaluator = GuardEvaluator(inputs, now=now, last_start=now, problem=reader.problem)
        orders = Orders(view, seen.orders, reader)
        self._tracker = NodeTracker(
            view,
            seen,
            self._evaluator,
            orders,
            runtime=runtime,
            recorder=recorder,
            request_evaluation=self._enqueue,
            ask_for_reports=self._ask_for_reports,
            escalation=self._escalation,
        )
        self._preflight = NodePreflight(reader, view, self._evaluator, orders, creation_context)
        self._writer = Writer(client, runtime)
        self._order_lifecycle = OrderLifecycle(view, orders, self._writer, recorder)
        self._history = History(seen.completed, self._evaluator.target_index)
        self._reporter = NodeReporter(
            view, self._evaluator, self._history, self._tracker.recoveries, self._writer, recorder
        )
        self._orphans = Orphans(view, reader, self._writer, recorder, self._history)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case TargetKey(node):
                return await self._reconcile_target(node)
            case CheckKey(check):
                # A report before the count would show zero targets.
                await self._tracker.rebuild_counts()
                return await self._reporter.report_check(check, self._tracker.moment())
            case PolicyKey():
                await self._tracker.rebuild_counts()
                return await self._reporter.report_policy(self._tracker.moment())
            case HeldKey():
                return self._wake_held()
            case AllTargetsKey():
                await self._tracker.rebuild_counts()
                for name in self._tracker.pending_targets():
                    self._enqueue(name)
                return Done()
            case PrefetchKey():
                await self._open.prefetch()
                return Done()

    async def _reconcile_target(self, name: str) -> Outcome:
        self._waiting.leave(name)
        target = targets.find_target(self._view, name)
        if target is None:
            return await self._leave(name)
        await self._tracker.rebuild_counts()
        withdrawn = await self._orphans.withdraw(name, target)
        if withdrawn is not None:
            return withdrawn
        case = self._tracker.evaluate(target)
        remedy_policy, ordered = targets.remedy_policy_of(target), case.evaluation.stands
        wanted = decide(case.health, case.existing, case.guarded, remedy_policy, ordered=ordered)
        moment = self._tracker.moment()
        step = self._tracker.recoveries.decide(target, case.health, case.found, wanted, moment.now)
        request = NoAction() if isinstance(step, Step) else step
        remedy_index = self._escalation.note(target, case.health, case.ours, request)
        if not isinstance(request, Create):
            hold = request if isinstance(request, Hold) else None
            # Record the state before acting. A failed action is retried; the recorded state stays valid.
            self._upsert(
                case, remedy_index, target_status(case.health, hold, remediating=case.ours is not None)
            )
        if isinstance(step, Step):
            outcome = await self._act_on_recovery(target, case.placed, step, moment)
            writes = outcome == Done()
        else:
            outcome = await self._act(case, remedy_index, request)
            writes = isinstance(request, Create | DeleteRemediation | Escalate)
        # One write per pass, and remediation goes before the deletion of an order.
        return outcome if writes else await self._order_lifecycle.end(target, case.evaluation) or outcome

    async def _leave(self, name: str) -> Outcome:
        """Handle a node that is not a target: no check selects it, or its Node is gone."""
        counts_for = self._tracker.leave(name)
        withdrawn = await self._orphans.withdraw(name, None)
        if withdrawn is not None:
            return withdrawn
        outcome = await self._order_lifecycle.end_stray(name, self._tracker.moment().now)
        return RequeueAfter(counts_for) if counts_for is not None and outcome == Done() else outcome

    async def _act(self, case: NodeEvaluation, remedy_index: int, request: Request) -> Outcome:
        match request:
            case Create():
                return await self._create(case, remedy_index, request)
            case DeleteRemediation() | Escalate():
                return await self._withdraw(case, request)
            case NoAction(again_in):
                return Done() if again_in is None else self._wait(case, again_in)
            case Hold():
                return self._hold(case.target, request)
            case _:
                assert_never(request)

    def _wait(self, case: NodeEvaluation, seconds: float) -> Outcome:
        if case.found is None and seconds > AHEAD:
            self._ask_for(PrefetchKey(case.target.node.name), seconds - AHEAD)
        return RequeueAfter(seconds + A_MOMENT)

    async def _act_on_recovery(
        self, target: NodeTarget, placed: PlacedTarget, step: Step, moment: Clocks
    ) -> Outcome:
        match step:
            case MarkRecoveryPending():
                # The report was requested; writing it requeues the target.
                return RequeueAfter(RECHECK_INTERVAL)
            case CreateRecovery():
                recovery = target.check.spec.recovery
                if recovery is None:
                    raise ValueError("the check names no recovery")
                return await self._begin_recovery(target, placed, recovery, moment)
            case DeleteRecovery():
                return await self._end_recovery(target)
            case _:
                assert_never(step)

    async def _begin_recovery(
        self, target: NodeTarget, placed: PlacedTarget, recovery: Recovery, moment: Clocks
    ) -> Outcome:
        facts = self._evaluator.evaluate(placed, moment)
        guarded = guard(facts, PASSES)
        if isinstance(guarded, Hold):
            return self._hold_recovery(target, guarded)
        # No other remediation of this leader may start in between.
        async with self._turn.taken():
            write = await self._preflight.before_recovery(target, placed, recovery)
            if isinstance(write, Hold):
                return self._hold_recovery(target, write)
            self._open.forget()
            outcome = await self._writer.write(write)
        if isinstance(outcome, Retry) and outcome.refused:
            kind = recovery.template.kind.removesuffix("Template")
            self._hold_recovery(target, Hold(CreationRefused(kind, outcome.why)))
        elif outcome == Done():
            self._tracker.recoveries.hold(target, "")
        return outcome

    def _hold_recovery(self, target: NodeTarget, hold: Hold) -> Outcome:
        """Record why the recovery waits. The node stays counted as healthy."""
        self._tracker.recoveries.hold(target, held_target_status(hold).message)
        return RequeueAfter(RECHECK_INTERVAL)

    async def _end_recovery(self, target: NodeTarget) -> Outcome:
        node = target.node
        record = targets.find_recovery(self._view, target.check, node.name, node.uid)
        if record is None:
            raise ValueError("there is no recovery to end")
        write = await self._preflight.before_end(record)
        if isinstance(write, Hold):
            return RequeueAfter(RECHECK_INTERVAL)
        self._open.forget()
        return await self._writer.write(write)

    async def _create(self, case: NodeEvaluation, remedy_index: int, request: Create) -> Outcome:
        target, index = case.target, self._escalation.next_of(case.target)
        what = targets.would_create(target, target.check.spec.remedies[index].template)
        # The guard counts open remediations: two concurrent creations could both find one free slot.
        async with self._turn.taken():
            write = await self._preflight.before_create(target, case.placed, index, case.approved_order)
            if not isinstance(write, Hold):
                # Consume the order before creating, so that after a crash the next leader does not follow it
                # again.
                write = await self._order_lifecycle.take_up(target, case.approved_order) or write
            if isinstance(write, Hold):
                self._upsert(case, remedy_index, held_target_status(write))
                return self._hold(target, write)
            self._open.forget()
            outcome = await self._writer.write(write)
            self._order_lifecycle.note(target, case.approved_order, outcome)
            self._upsert(case, remedy_index, self._begun(what, outcome))
        if outcome == Done():
            waited = self._tracker.unhealthy_since.begin(target.node.name, self._tracker.moment().now)
            self._recorder.asked(target, request, what, case.approved_order)
            self._recorder.started(target, what, waited if index == 0 else None)
        return outcome

    async def _withdraw(self, case: NodeEvaluation, request: DeleteRemediation | Escalate) -> Outcome:
        if case.found is None:
            raise ValueError("there is nothing to withdraw")
        record = case.found.record
        if isinstance(request, Escalate):
            # Write the step before deleting. Otherwise, after a crash, the next leader would start at the
            # first remedy.
            reported = await self._reporter.write_down(case.target.check, self._tracker.moment())
            if reported != Done() and not (isinstance(reported, Retry) and reported.refused):
                return reported
        write = await self._preflight.before_withdraw(case.target, case.found)
        if isinstance(write, Hold):
            return self._hold(case.target, write)
        how = HowEnded.ESCALATED if isinstance(request, Escalate) else HowEnded.HEALED
        self._history.expect(record, how)
        self._open.forget()
        outcome = await self._writer.write(write)
        if outcome == Done():
            what = reference_to(record.resource, record.name, record.namespace)
            self._recorder.asked(case.target, request, what)
        return outcome

    def _begun(self, what: ObjectReference, outcome: Outcome) -> TargetStatus:
        if isinstance(outcome, Retry) and outcome.refused:
            return held_target_status(Hold(CreationRefused(what.kind, outcome.why)))
        # Set it even if the create's outcome is unknown: the interval must count remediations that may have
        # started.
        self._evaluator.last_start = self._tracker.moment().now
        return REMEDIATING

    def _upsert(self, case: NodeEvaluation, remedy_index: int, entry: TargetStatus) -> None:
        ordered_by = case.approved_order.order.by if case.approved_order else ""
        self._tracker.upsert(case, replace(entry, remedy=remedy_index, ordered_by=ordered_by))

    def _hold(self, target: NodeTarget, hold: Hold) -> Outcome:
        now = self._tracker.moment().now
        self._ask_for(HeldKey(), self._waiting.upsert(target.node.name, hold, now))
        return Done()

    def _wake_held(self) -> Outcome:
        now = self._tracker.moment().now
        for name in self._waiting.wake(now):
            self._enqueue(name)
        again_in = self._waiting.again_in(now)
        return Done() if again_in is None else RequeueAfter(again_in)

    def _enqueue(self, name: str) -> None:
        self._ask_for(TargetKey(name), 0.0)

    def _ask_for_reports(self, check: str) -> None:
        self._ask_for(CheckKey(check), REPORT_AT_MOST_EVERY)
        self._ask_for(PolicyKey(), REPORT_AT_MOST_EVERY)
