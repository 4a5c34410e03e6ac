"""Tells of verdicts and of what was asked for: a log line, a metric, an event on the Node."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, assert_never

from nodemend.api.conditions import find_true
from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK
from nodemend.api.node_health_check import (
    NodeHealthCheck,
    NodeHealthCheckStatus,
    RecoveryPhase,
    RecoveryReport,
)
from nodemend.controllers.checking.check_metrics import CheckMetrics
from nodemend.controllers.checking.rooms import Room
from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.controllers.checking.telling import Subject, Telling, Words
from nodemend.controllers.node_health_check.gather import Target, reference_to
from nodemend.controllers.node_health_check.orders import Warrant
from nodemend.controllers.node_health_check.orphans import Named
from nodemend.controllers.node_health_check.recovery_news import recovery_news
from nodemend.controllers.node_health_check.report import UNSERVED
from nodemend.decide.holds import Hold
from nodemend.decide.remediation_order import Order
from nodemend.decide.remediation_request import Create, Escalate, Withdraw
from nodemend.decide.storm_guard import Go
from nodemend.kube.event_book import Happening
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics

_WORDS: Final = Words(event_reasons.NODE_HEALTHY, event_reasons.NODE_UNHEALTHY, event_reasons.NODE_SUSPECT)


class NodeHealthCheckRecorder:
    """The Recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[Happening], None]) -> None:
        self._telling = Telling("node_health_check", _WORDS, log, metrics, record)
        self._recoveries = metrics.recoveries
        self._checks = CheckMetrics(metrics)

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None:
        """A node that is healthy when first seen is no news: a leader begins with all of them."""
        self._telling.count(now.standing)
        if before is not None or now.standing is not Standing.HEALTHY:
            self._telling.judged(_subject(target), before, now)

    def asked(
        self,
        target: Target,
        request: Create | Withdraw | Escalate,
        what: ObjectReference,
        warrant: Warrant | None = None,
    ) -> None:
        name, subject = type(request).__name__, _subject(target)
        self._telling.count(name)
        self._telling.log("asked", request=name, kind=what.kind, namespace=what.namespace, **subject.logged)
        if warrant is not None and isinstance(request, Create):
            self._followed(subject, warrant, what)
        where = f"{what.kind} in {what.namespace}"
        told: tuple[EventReason, str]
        match request:
            case Create():
                order = f" Ordered by {warrant.order.by}: {warrant.order.reason}" if warrant else ""
                told = event_reasons.REMEDIATION_STARTED, f"asked for a {where}.{order}"
            case Withdraw():
                told = event_reasons.REMEDIATION_WITHDRAWN, f"needs its {where} no longer."
            case Escalate(to):
                told = event_reasons.REMEDIATION_ESCALATED, f"gives up its {where} for remedy {to + 1}."
            case _:
                assert_never(request)
        reason, note = told
        self._telling.tell(subject.regarding, reason, f"{subject.check} {note}", what)

    def withdrew_orphan(self, node: Named, record: RemediationRecord) -> None:
        self._telling.count("WithdrawOrphan")
        what = reference_to(record)
        self._telling.log("withdrew orphan", kind=what.kind, namespace=what.namespace, node=node.name)
        note = f"No check answers for its {what.kind} in {what.namespace} any more."
        self._telling.tell(_reference_to_node(node), event_reasons.REMEDIATION_WITHDRAWN, note, what)

    def _followed(self, subject: Subject, warrant: Warrant, what: ObjectReference) -> None:
        """Who ordered it and why: the line in the log is the lasting record of that."""
        order, past = warrant.order, warrant.order.past_guard
        verdict, passed = ("Override", warrant.passed_by_name) if past else ("Order", "")
        self._telling.count(verdict)
        self._telling.log(
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
            self._telling.tell(subject.regarding, event_reasons.OVERRIDE_USED, note, what)

    def order_lapsed(self, target: Target, order: Order, why: str) -> None:
        subject = _subject(target)
        self._telling.count("OrderLapsed")
        self._telling.log("order lapsed", order=order.uid, by=order.by, why=why, **subject.logged)
        note = f"The order of {order.by} ends unused: {why}."
        self._telling.tell(subject.regarding, event_reasons.ORDER_LAPSED, note)

    def started(self, target: Target, what: ObjectReference, waited: float | None) -> None:
        self._telling.started(target.check.metadata.name, what.kind, waited)

    def guarded(self, check: str, guarded: Go | Hold, room: Room | None) -> None:
        self._telling.guarded(check, guarded, room)

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        self._telling.filled(cluster, rooms)

    def still_held(self, check: NodeHealthCheck, note: str) -> None:
        self._telling.log("still held", check=check.metadata.name, note=note)
        self._telling.tell(_reference_to_check(check), event_reasons.STILL_HELD, note)

    def overlapped(self, check: NodeHealthCheck, note: str) -> None:
        self._telling.log("overlapped", check=check.metadata.name, note=note)
        self._telling.tell(_reference_to_check(check), event_reasons.CHECK_OVERLAPPED, note)

    def stalled(self, check: NodeHealthCheck, now: NodeHealthCheckStatus) -> None:
        name = check.metadata.name
        was, told = (find_true(status.conditions, "Stalled") for status in (check.status, now))
        self._checks.show(name, told.reason if told is not None else "", now)
        if told is not None and (was is None or was.reason != told.reason):
            unserved = told.reason == UNSERVED
            reason = event_reasons.REMEDIATION_UNSERVED if unserved else event_reasons.CHECK_STALLED
            self._telling.log("stalled", check=name, reason=told.reason, note=told.message)
            self._telling.tell(_reference_to_check(check), reason, told.message)

    def recovering(self, check: NodeHealthCheck, now: tuple[RecoveryReport, ...]) -> None:
        name, counts = check.metadata.name, Counter(one.phase for one in now)
        if check.spec.recovery is None:
            self._strike_recoveries(name)
        else:
            for phase in RecoveryPhase:
                self._recoveries.labels(name, phase.value).set(counts[phase])
        for news in recovery_news(check.status.recoveries, now):
            self._telling.count(news.reason.word)
            verdict = news.reason.word
            self._telling.log("recovery", verdict=verdict, note=news.note, check=name, node=news.name)
            self._telling.tell(_reference_to_node(news), news.reason, f"nhc/{name}: {news.note}")

    def counted(self, check: str, tally: Tally | None) -> None:
        if tally is None:
            self._strike_recoveries(check)
            self._checks.forget(check)
        self._telling.counted(check, tally)

    def _strike_recoveries(self, check: str) -> None:
        for phase in RecoveryPhase:
            self._recoveries.remove(check, phase.value)


def _subject(target: Target) -> Subject:
    check = target.check.metadata.name
    return Subject(
        name=target.node.name,
        check=f"nhc/{check}",
        regarding=_reference_to_node(target.node),
        logged={"node": target.node.name, "check": check},
    )


def _reference_to_node(node: Named) -> ObjectReference:
    return ObjectReference(api_version=NODE.api_version, kind=NODE.kind, name=node.name, uid=node.uid)


def _reference_to_check(check: NodeHealthCheck) -> ObjectReference:
    named, api = check.metadata, NODE_HEALTH_CHECK
    return ObjectReference(api_version=api.api_version, kind=api.kind, name=named.name, uid=named.uid)
