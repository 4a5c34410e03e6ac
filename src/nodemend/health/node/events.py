"""Log lines, metrics and events about verdicts, requests and recoveries of Nodes."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import assert_never

from nodemend.api import condition_reasons, condition_types
from nodemend.api.meta import find_true
from nodemend.api.node_health_check import (
    NodeHealthCheck,
    NodeHealthCheckStatus,
    RecoveryPhase,
    RecoveryReport,
)
from nodemend.api.resources import NODE, NODE_HEALTH_CHECK
from nodemend.api.upstream_types import ObjectReference, reference_to
from nodemend.guard.state import CheckCounts, TargetState, TargetStatus
from nodemend.health.node.preflight import ApprovedOrder
from nodemend.health.node.targets import NodeTarget
from nodemend.health.reporting import CheckMetrics, EventReasons, EventSubject, HealthRecorder
from nodemend.kube.events import EventRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.request import Create, DeleteRemediation, Escalate, Order
from nodemend.safety.holds import spell_a
from nodemend.telemetry import event_reasons, metric_labels
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics

_REPORTED = {
    RecoveryPhase.RUNNING: event_reasons.RECOVERY_STARTED,
    RecoveryPhase.SUCCEEDED: event_reasons.RECOVERY_SUCCEEDED,
    RecoveryPhase.FAILED: event_reasons.RECOVERY_FAILED,
    RecoveryPhase.OVERDUE: event_reasons.RECOVERY_FAILED,
}
_BEFORE_IT_BEGAN = (None, RecoveryPhase.PENDING)


def recovery_events(
    before: tuple[RecoveryReport, ...], now: tuple[RecoveryReport, ...]
) -> Iterator[tuple[RecoveryReport, EventReason, str]]:
    """Yield the events for changed recoveries: the report of the node, the reason and the note."""
    known = {one.node_uid: one for one in before}
    for report in now:
        past = known.pop(report.node_uid, None)
        was = past.phase if past is not None else None
        if report.phase is RecoveryPhase.PENDING and was not in _BEFORE_IT_BEGAN:
            note = "The recovery was deleted for a remediation, and starts again when the node is healthy."
            yield report, event_reasons.RECOVERY_WITHDRAWN, note
        elif report.phase in _REPORTED and report.phase is not was:
            yield report, _REPORTED[report.phase], report.message
    for gone in known.values():
        if gone.phase is not RecoveryPhase.SUCCEEDED:
            note = f"The recovery, which was {gone.phase}, was deleted before it succeeded."
            yield gone, event_reasons.RECOVERY_WITHDRAWN, note


class NodeHealthCheckRecorder(HealthRecorder):
    """Reports verdicts and requests for Nodes."""

    controller = metric_labels.NODE_HEALTH_CHECK
    words = EventReasons(event_reasons.NODE_HEALTHY, event_reasons.NODE_UNHEALTHY, event_reasons.NODE_SUSPECT)

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None]) -> None:
        super().__init__(log, metrics, record)
        self._recoveries = metrics.recoveries
        self._checks = CheckMetrics(metrics)

    def judged(self, target: NodeTarget, before: TargetStatus | None, now: TargetStatus) -> None:
        """Count a verdict, and report it unless it is the first one and healthy.

        A new leader evaluates all nodes, so a first healthy verdict is not a change.
        """
        self.count(now.state)
        if before is not None or now.state is not TargetState.HEALTHY:
            self.report_change(_subject(target), before, now)

    def asked(
        self,
        target: NodeTarget,
        request: Create | DeleteRemediation | Escalate,
        what: ObjectReference,
        approved_order: ApprovedOrder | None = None,
    ) -> None:
        """Report that `what` was created (by order if `approved_order` is set) or is to be deleted."""
        name, subject = request.request, _subject(target)
        self.count(name)
        self._log.info("asked", request=name, kind=what.kind, namespace=what.namespace, **subject.logged)
        if approved_order is not None and isinstance(request, Create):
            self._followed(subject, approved_order, what)
        where = f"{what.kind} in {what.namespace}"
        match request:
            case Create():
                reason, note = event_reasons.REMEDIATION_STARTED, f"created {spell_a(where)}."
                if approved_order is not None:
                    note += f" Ordered by {approved_order.order.by}: {approved_order.order.reason}"
            case DeleteRemediation():
                reason = event_reasons.REMEDIATION_WITHDRAWN
                note = f"no longer needs its {where}, and deletes it."
            case Escalate(to):
                reason = event_reasons.REMEDIATION_ESCALATED
                note = f"deletes its {where}, which failed or timed out, and starts remedy {to + 1} next."
            case _:
                assert_never(request)
        self.tell(subject.regarding, reason, f"{subject.check} {note}", what)

    def withdrew_orphan(self, record: RemediationRecord, node_uid: str) -> None:
        """Report the deletion of an orphaned remediation. `node_uid` is empty if its Node was deleted."""
        self.count(metric_labels.DELETE_ORPHAN)
        what = reference_to(record.resource, record.name, record.namespace)
        self._log.info("withdrew orphan", kind=what.kind, namespace=what.namespace, node=record.name)
        note = f"No check needs its {what.kind} in {what.namespace} any more."
        regarding = reference_to(NODE, record.name, uid=node_uid)
        self.tell(regarding, event_reasons.REMEDIATION_WITHDRAWN, note, what)

    def _followed(self, subject: EventSubject, approved_order: ApprovedOrder, what: ObjectReference) -> None:
        """Report a followed order. The log line is the lasting record of its author and reason."""
        order, past = approved_order.order, approved_order.order.past_guard
        verdict, passed = (
            (metric_labels.OVERRIDE, approved_order.passed_by_name) if past else (metric_labels.ORDER, "")
        )
        self.count(verdict)
        self._log.info(
            "followed an order",
            order=order.uid,
            by=order.by,
            reason=order.reason,
            past_guard=past,
            passed=passed,
            **subject.logged,
        )
        if past:
            note = f"{order.by} let it past the guard ({passed}): {order.reason}"
            self.tell(subject.regarding, event_reasons.OVERRIDE_USED, note, what)

    def order_expired(self, target: NodeTarget, order: Order, why: str) -> None:
        subject = _subject(target)
        self.count(metric_labels.ORDER_EXPIRED)
        self._log.info("order expired", order=order.uid, by=order.by, why=why, **subject.logged)
        note = f"The order of {order.by} ends unused: {why}."
        self.tell(subject.regarding, event_reasons.ORDER_EXPIRED, note)

    def started(self, target: NodeTarget, what: ObjectReference, waited: float | None) -> None:
        """Report a started remediation.

        `waited` is the seconds since the node was first observed unhealthy; None for a further remedy or an
        order.
        """
        self._guard.begin(target.check.metadata.name, what.kind, waited)

    def stalled(self, check: NodeHealthCheck, now: NodeHealthCheckStatus) -> None:
        """Report Stalled and overlap conditions: `now` as written, `check` with the previous status."""
        name = check.metadata.name
        was, reported = (
            find_true(status.conditions, condition_types.STALLED) for status in (check.status, now)
        )
        self._checks.show(name, reported.reason if reported is not None else "", now)
        if reported is not None and (was is None or was.reason != reported.reason):
            unserved = reported.reason == condition_reasons.REMEDIATION_UNSERVED
            reason = event_reasons.REMEDIATION_UNSERVED if unserved else event_reasons.CHECK_STALLED
            self._log.info("stalled", check=name, reason=reported.reason, note=reported.message)
            self.tell(reference_to_check(check), reason, reported.message)

    def recovering(self, check: NodeHealthCheck, now: tuple[RecoveryReport, ...]) -> None:
        """Report changed recoveries; `check` has the previous ones, `now` the written ones."""
        name, counts = check.metadata.name, Counter(one.phase for one in now)
        if check.spec.recovery is None:
            self._strike_recoveries(name)
        else:
            for phase in RecoveryPhase:
                self._recoveries.labels(name, phase.value).set(counts[phase])
        for report, reason, note in recovery_events(check.status.recoveries, now):
            self.count(reason.name)
            self._log.info("recovery", verdict=reason.name, note=note, check=name, node=report.node)
            regarding = reference_to(NODE, report.node, uid=report.node_uid)
            self.tell(regarding, reason, f"nhc/{name}: {note}")

    def counted(self, check: str, counts: CheckCounts | None) -> None:
        if counts is None:
            self._strike_recoveries(check)
            self._checks.forget(check)
        super().counted(check, counts)

    def _strike_recoveries(self, check: str) -> None:
        for phase in RecoveryPhase:
            self._recoveries.remove(check, phase.value)


def _subject(target: NodeTarget) -> EventSubject:
    check = target.check.metadata.name
    return EventSubject(
        name=target.node.name,
        check=f"nhc/{check}",
        regarding=reference_to(NODE, target.node.name, uid=target.node.uid),
        logged={"node": target.node.name, "check": check},
    )


def reference_to_check(check: NodeHealthCheck) -> ObjectReference:
    return reference_to(NODE_HEALTH_CHECK, check.metadata.name, uid=check.metadata.uid)
