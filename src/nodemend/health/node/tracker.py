"""Tracks the state, the recovery and the escalation step of every node under a check, and reports changes.

Pending recoveries and escalation steps are in the check's status, so they are not lost with a leader. An
escalation step outlives the remediation that was given up.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from nodemend.api.meta import print_time
from nodemend.api.node_health_check import MOST_RECOVERIES, NodeHealthCheck, RecoveryPhase, RecoveryReport
from nodemend.api.quantities import duration_seconds
from nodemend.guard.evaluator import Clocks, GuardEvaluator, current_rules
from nodemend.guard.state import (
    HEALTHY,
    DeletedTargets,
    PlacedTarget,
    PreviousState,
    TargetStatus,
    target_status,
)
from nodemend.health.conditions import ObservationCache, UnhealthySince
from nodemend.health.node import targets
from nodemend.health.node.preflight import ApprovedOrder, OrderEvaluation, Orders
from nodemend.health.node.targets import FastPath, FoundRemediation, NodeTarget, NodeView, guard_target_of
from nodemend.health.remediation_index import RemedyKind
from nodemend.kube.ports import Runtime
from nodemend.kube.tasks import FairSemaphore
from nodemend.records.live_reads import POLICY_OF_DEFAULTS
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.node import Healthy, NodeHealth, Unhealthy
from nodemend.rules.request import (
    Create,
    CreateRecovery,
    DeleteRecovery,
    Escalate,
    ExistingRemediation,
    MarkRecoveryPending,
    Recovering,
    RecoveryFacts,
    Request,
    Step,
    decide_recovery,
    progress,
    report_dry_run,
    spell_phase,
    still_missing,
)
from nodemend.safety.guard import Allowed, GuardFacts, guard
from nodemend.safety.holds import Hold

# It loads the metrics, which `kubectl mend simulate`, another user of this module, starts faster without.
if TYPE_CHECKING:
    from nodemend.health.node.events import NodeHealthCheckRecorder


@dataclass(eq=False, slots=True)
class RecoveryTracker:
    """Recoveries of one leader term."""

    view: NodeView
    ask_for_report: Callable[[str], None]
    _owing: dict[str, str] = field(default_factory=dict)
    """Node UIDs by name, for nodes whose next step waits until their recovery is written as pending."""
    _ending: set[str] = field(default_factory=set)
    """Nodes whose recovery Nodemend is deleting.

    Until the watch reports that, it must not count as running.
    """
    _held: dict[str, str] = field(default_factory=dict)
    """The reason why the recovery of a node does not start, by node name."""

    def decide(
        self,
        target: NodeTarget,
        health: NodeHealth,
        found: FoundRemediation | None,
        wanted: Request,
        now: float,
    ) -> Request | Step:
        """Return the next step of a recovery, or the request to act on if there is no such step.

        `found` is the existing remediation; `wanted` is the check's request without regard to the recovery.
        """
        facts = self._facts(target, health, found, now)
        if facts is None:
            return wanted
        step, node = decide_recovery(wanted, facts), target.node
        if isinstance(step, MarkRecoveryPending):
            self._owing[node.name] = node.uid
        else:
            self._owing.pop(node.name, None)
        if not isinstance(step, CreateRecovery):
            self._held.pop(node.name, None)
        if isinstance(step, DeleteRecovery):
            self._ending.add(node.name)
        else:
            self._ending.discard(node.name)
        there = self._as_intended(facts.there, node.name)
        due = progress(facts.written, there, facts.timeout, owing=isinstance(step, MarkRecoveryPending))
        if due != facts.written:
            self.ask_for_report(target.check.metadata.name)
        return step

    def hold(self, target: NodeTarget, why: str) -> None:
        """Record why the recovery does not start; an empty `why` clears the reason."""
        name = target.node.name
        if why != self._held.pop(name, ""):
            self.ask_for_report(target.check.metadata.name)
        if why:
            self._held[name] = why

    def forget(self, node: str) -> None:
        self._owing.pop(node, None)
        self._held.pop(node, None)
        self._ending.discard(node)

    def reports(self, check: NodeHealthCheck, moment: Clocks) -> tuple[RecoveryReport, ...]:
        """Return the entries for the check's status, sorted by node.

        Entries already written have priority at the limit.
        """
        reports: list[RecoveryReport] = []
        for node, uid in self._candidates(check):
            report = self._report(check, node, uid, moment)
            if report is not None and len(reports) < MOST_RECOVERIES:
                reports.append(report)
        return tuple(sorted(reports, key=lambda one: one.node))

    def _facts(
        self, target: NodeTarget, health: NodeHealth, found: FoundRemediation | None, now: float
    ) -> RecoveryFacts | None:
        recovery, node = target.check.spec.recovery, target.node
        if recovery is None:
            return None
        return RecoveryFacts(
            written=targets.recovery_written(target.check, node.uid),
            there=self._there(target.check, node.name, node.uid, now),
            timeout=duration_seconds(recovery.timeout),
            missing=still_missing(health, targets.remedy_policy_of(target).healthy_delay),
            remediating=found is not None,
        )

    def _there(self, check: NodeHealthCheck, node: str, uid: str, now: float) -> Recovering | None:
        record = targets.find_recovery(self.view, check, node, uid)
        if record is None:
            return None
        return targets.as_recovering(record, self.view.remedies.seen_for(record, now))

    def _as_intended(self, there: Recovering | None, node: str) -> Recovering | None:
        """Mark a recovery as ending if Nodemend deletes it and the watch does not show that yet."""
        return replace(there, ending=True) if there is not None and node in self._ending else there

    def _candidates(self, check: NodeHealthCheck) -> Iterator[tuple[str, str]]:
        """Yield name and UID of each node with a recovery that is written, pending, or only an object."""
        known = {one.node: one.node_uid for one in check.status.recoveries}
        for node, uid in (*self._owing.items(), *self._unwritten(check)):
            known.setdefault(node, uid)
        for node, uid in known.items():
            target = targets.find_target(self.view, node)
            mine = target is not None and target.check.metadata.uid == check.metadata.uid
            if target is not None and mine and target.node.uid == uid:
                yield node, uid

    def _unwritten(self, check: NodeHealthCheck) -> Iterator[tuple[str, str]]:
        """Yield nodes that have a recovery object. The object survives a restored backup without statuses."""
        for record in self._all(check) or ():
            if record.recovers and (node := self.view.nodes.get(record.name)) is not None:
                yield node.name, node.uid

    def _all(self, check: NodeHealthCheck) -> Iterable[RemediationRecord] | None:
        """Return every object of the recovery's kind; None until the watch of that kind has synced."""
        remedies, recovery = self.view.remedies, check.spec.recovery
        kind = remedies.kind_of(recovery.template) if recovery is not None else None
        cache = remedies.caches.get(kind.remediation) if isinstance(kind, RemedyKind) else None
        return None if cache is None or cache.synced_at is None else cache.all()

    def _phase(
        self, check: NodeHealthCheck, node: str, uid: str, timeout: float, now: float
    ) -> RecoveryPhase | None:
        written, owing = targets.recovery_written(check, uid), self._owing.get(node) == uid
        if self._all(check) is None and not owing:
            # The kind is not synced: an object missing from the cache may still exist.
            return written
        there = self._as_intended(self._there(check, node, uid, now), node)
        return progress(written, there, timeout, owing=owing)

    def _report(self, check: NodeHealthCheck, node: str, uid: str, moment: Clocks) -> RecoveryReport | None:
        recovery = check.spec.recovery
        if recovery is None:
            return None
        timeout = duration_seconds(recovery.timeout)
        phase = self._phase(check, node, uid, timeout, moment.now)
        if phase is None:
            return None
        written = next((one for one in check.status.recoveries if one.node_uid == uid), None)
        same = written is not None and written.phase is phase
        template = recovery.template
        what = f"{template.kind.removesuffix('Template')} {template.namespace}/{node}"
        return RecoveryReport(
            node=node,
            node_uid=uid,
            phase=phase,
            since=written.since if written is not None and same else print_time(moment.wall),
            message=spell_phase(phase, what, self._held.get(node, "")),
        )


class EscalationTracker:
    """Escalation steps of one leader term. If they were lost, a target would start at the first remedy again.

    So the check's status records the new step before the old remediation is deleted.
    """

    def __init__(self, view: NodeView) -> None:
        """Start with the steps that the last leader wrote."""
        self._reached = {
            report.name: report.remedy - 1
            for check in view.checks.all()
            for report in check.status.reports
            if report.remedy > 0
        }

    def note(
        self, target: NodeTarget, health: NodeHealth, ours: FoundRemediation | None, request: Request
    ) -> int:
        """Record and return the current remedy, counted from 1; 0 if none.

        It is forgotten when the node is healthy and has no remediation.
        """
        name = target.node.name
        if isinstance(request, Escalate):
            self._reached[name] = request.to
        elif ours is not None and not ours.record.deleting:
            self._reached[name] = ours.index
        elif ours is None and isinstance(health, Healthy):
            self._reached.pop(name, None)
        in_progress = ours is not None or isinstance(request, Create) or name in self._reached
        return self._reached.get(name, 0) + 1 if in_progress else 0

    def of(self, node: str) -> int:
        """Return the remedy at the last evaluation, counted from 1; 0 before the first."""
        return self._reached[node] + 1 if node in self._reached else 0

    def next_of(self, target: NodeTarget) -> int:
        """Return the index of the remedy to start with.

        Clamped, because the check may have fewer remedies now.
        """
        return min(self._reached.get(target.node.name, 0), len(target.check.spec.remedies) - 1)


COUNTED_AT_A_TIME: Final = 500


@dataclass(frozen=True, slots=True)
class NodeEvaluation:
    """One evaluation of a target: its facts and the guard's answer. `before` is its previous state."""

    target: NodeTarget
    placed: PlacedTarget
    health: NodeHealth
    found: FoundRemediation | None
    """The remediation that exists for the target."""
    existing: ExistingRemediation | None
    evaluation: OrderEvaluation
    """The manual order for the target and its verdict."""
    approved_order: ApprovedOrder | None
    guarded: Allowed | Hold
    before: PreviousState | None

    @property
    def ours(self) -> FoundRemediation | None:
        return self.found if self.existing is not None and self.existing.ours else None


class NodeTracker:
    """Node states of one leader term."""

    def __init__(  # noqa: PLR0913 - caches, remembered state and callbacks
        self,
        view: NodeView,
        seen: ObservationCache,
        evaluator: GuardEvaluator,
        orders: Orders,
        *,
        runtime: Runtime,
        recorder: "NodeHealthCheckRecorder",
        request_evaluation: Callable[[str], None],
        ask_for_reports: Callable[[str], None],
        escalation: EscalationTracker,
    ) -> None:
        self._view = view
        self._seen = seen
        self._evaluator = evaluator
        self._orders = orders
        self._runtime = runtime
        self._recorder = recorder
        self._request_evaluation = request_evaluation
        self._ask_for_reports = ask_for_reports
        self._escalation = escalation
        self.unhealthy_since = UnhealthySince()
        self.recoveries = RecoveryTracker(view, ask_for_reports)
        self._deleted = DeletedTargets(evaluator.target_index)
        self._counted_by: object = None
        self._counting = FairSemaphore(runtime)

    def moment(self) -> Clocks:
        return Clocks(self._runtime.monotonic(), self._runtime.wall())

    def evaluate(self, target: NodeTarget) -> NodeEvaluation:
        """Evaluate a target: judge its health, count it and, if it needs a remediation, ask the guard."""
        moment, name = self.moment(), target.node.name
        self._deleted.forget(name)
        self._note_overlap(target)
        health = targets.evaluate_target(target, self._seen.ages, moment.now)
        self.unhealthy_since.note(name, health, moment.now)
        found = targets.find_remediation(self._view, target)
        existing = None
        if found is not None:
            seconds = self._view.remedies.seen_for(found.record, moment.now)
            existing = targets.as_existing(found, target, self._view, seconds)
        placed = self._evaluator.place_target(guard_target_of(target, moment.wall), moment)
        evaluation = self._orders.evaluate(target, health, existing, moment.now)
        well = isinstance(health, Healthy) and not evaluation.stands
        before = self._evaluator.count(placed, healthy=well)
        self._evaluator.update_storms(placed, moment)
        asks = existing is None and (evaluation.stands or isinstance(health, Unhealthy))
        facts = self._evaluator.evaluate(placed, moment) if asks else None
        approved_order = evaluation.approved_order(facts)
        guarded = self._ask_guard(target, facts, approved_order) if facts else Allowed()
        return NodeEvaluation(
            target, placed, health, found, existing, evaluation, approved_order, guarded, before
        )

    def _ask_guard(
        self, target: NodeTarget, facts: GuardFacts, approved_order: ApprovedOrder | None
    ) -> Allowed | Hold:
        passing = approved_order.passing if approved_order else ()
        wish = targets.dry_run_action_for(target, self._escalation.next_of(target), self._view.remedies)
        return report_dry_run(facts, guard(facts, passing), wish, POLICY_OF_DEFAULTS, passing)

    def upsert(self, case: NodeEvaluation, entry: TargetStatus) -> None:
        place, before = case.placed.place, case.before
        self._evaluator.target_index.upsert(case.target.node.name, place, entry)
        if before == (place, entry):
            return
        self._recorder.judged(case.target, before[1] if before else None, entry)
        self._ask_for_reports(place.check)
        if before is not None and before[0].check != place.check:
            self._ask_for_reports(before[0].check)

    def leave(self, name: str) -> float | None:
        """Handle a node that is no longer a target.

        Returns the seconds for which it still counts as unhealthy, if its Node was deleted while unhealthy;
        else None.
        """
        gone = self._view.nodes.get(name) is None
        counts_for = self._deleted.count_on(name, self.moment().now) if gone else None
        self._forget(name, counts_on=counts_for is not None)
        return counts_for

    async def rebuild_counts(self) -> None:
        """Recount all nodes if the rules changed, before any node is judged by the new rules.

        A storm is a share of all nodes: a partial count would report one falsely.
        """
        view = self._view
        if current_rules(view.checks, view.policies) == self._counted_by:
            return
        async with self._counting.taken():
            rules = current_rules(view.checks, view.policies)
            if rules != self._counted_by:
                await self._count_by(rules)

    def pending_targets(self) -> list[str]:
        """Return the sorted names of nodes that may need action.

        After a count all other nodes are healthy, without remediation, order or recovery.
        """
        names = set(self._evaluator.target_index.unwell())
        names.update(record.name for record in self._view.remedies.all())
        names.update(order.metadata.name for order in self._view.orders.all())
        for check in self._view.checks.all():
            names.update(one.node for one in check.status.recoveries)
        return sorted(names)

    async def _count_by(self, rules: object) -> None:
        names, fast_path = list(self._view.nodes.keys()), FastPath(self._seen.ages)
        for first in range(0, len(names), COUNTED_AT_A_TIME):
            moment = self.moment()
            for name in names[first : first + COUNTED_AT_A_TIME]:
                self._count(name, fast_path, moment)
            await self._runtime.sleep(0)
        self._recount_deleted()
        self._counted_by = rules
        for check in self._view.checks.all():
            self._ask_for_reports(check.metadata.name)

    def _recount_deleted(self) -> None:
        for name in self._deleted.names:
            place = self._evaluator.target_index.place_of(name)
            if place is None or self._view.checks.get(place.check) is None:
                self._deleted.forget(name)
                self._forget(name)

    def _forget(self, name: str, *, counts_on: bool = False) -> None:
        self.unhealthy_since.forget(name)
        self.recoveries.forget(name)
        target_index = self._evaluator.target_index
        place = target_index.place_of(name) if counts_on else target_index.remove(name)
        if place is not None:
            self._ask_for_reports(place.check)
        for check in target_index.overlaps.forget(name):
            self._ask_for_reports(check)

    def _note_overlap(self, target: NodeTarget) -> None:
        overlaps = self._evaluator.target_index.overlaps
        for check in overlaps.note(target.node.name, target.check.metadata.name, target.overlapping):
            self._ask_for_reports(check)

    def _count(self, name: str, fast_path: FastPath, moment: Clocks) -> None:
        target = targets.find_target(self._view, name)
        if target is None:
            self._forget(name)
            return
        well = fast_path.finds_well(target, moment.now)
        entry = self._evaluator.target_index.find(name) or self._first_entry(target, moment, well=well)
        if remedy_index := self._escalation.of(name):
            entry = replace(entry, remedy=remedy_index)
        elif entry == HEALTHY and not well:
            # The evaluation of the target reports it.
            self._request_evaluation(name)
        place = self._evaluator.place(target.check.metadata.name, target.node, moment)
        self._evaluator.target_index.upsert(name, place, entry)
        self._evaluator.target_index.overlaps.note(name, target.check.metadata.name, target.overlapping)

    def _first_entry(self, target: NodeTarget, moment: Clocks, *, well: bool) -> TargetStatus:
        remediating = targets.find_remediation(self._view, target) is not None
        if well and not remediating:
            return HEALTHY
        health = targets.evaluate_target(target, self._seen.ages, moment.now)
        return target_status(health, None, remediating=remediating)
