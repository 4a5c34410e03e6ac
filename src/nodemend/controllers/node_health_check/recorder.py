"""Tells of verdicts and of what was asked for: a log line, a metric, an event on the Node."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, assert_never

from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK
from nodemend.api.node_health_check import NodeHealthCheck, RecoveryPhase, RecoveryReport
from nodemend.controllers.checking.guard_metrics import GuardMetrics
from nodemend.controllers.checking.rooms import Room
from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.controllers.node_health_check.gather import Target, reference_to
from nodemend.controllers.node_health_check.orders import Warrant
from nodemend.controllers.node_health_check.orphans import Named
from nodemend.controllers.node_health_check.recovery_news import recovery_news
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
from nodemend.telemetry.printable import printable

_CONTROLLER: Final = "node_health_check"


_UNWELL: Final = frozenset({Standing.UNHEALTHY, Standing.HELD, Standing.REMEDIATING})


class NodeHealthCheckRecorder:
    """The Recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[Happening], None]) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._guard = GuardMetrics(metrics, _CONTROLLER)

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None:
        """A node that is healthy when first seen is no news: a leader begins with all of them."""
        self._metrics.decisions.labels(_CONTROLLER, now.standing).inc()
        if before is None and now.standing is Standing.HEALTHY:
            return
        was = before.standing if before else "-"
        self._log.info("judged", standing=now.standing, was=was, note=now.message, **_named(target))
        for reason, note in _news(target, before, now):
            self._record(_happening(target.node, reason, note))

    def asked(
        self,
        target: Target,
        request: Create | Withdraw | Escalate,
        what: ObjectReference,
        warrant: Warrant | None = None,
    ) -> None:
        name = type(request).__name__
        self._metrics.decisions.labels(_CONTROLLER, name).inc()
        self._log.info("asked", request=name, kind=what.kind, namespace=what.namespace, **_named(target))
        if warrant is not None and isinstance(request, Create):
            self._followed(target, warrant, what)
        said, where = f"nhc/{target.check.metadata.name}", f"{what.kind} in {what.namespace}"
        told: tuple[EventReason, str]
        match request:
            case Create():
                order = f" Ordered by {warrant.order.by}: {warrant.order.reason}" if warrant else ""
                told = event_reasons.REMEDIATION_STARTED, f"{said} asked for a {where}.{order}"
            case Withdraw():
                told = event_reasons.REMEDIATION_WITHDRAWN, f"{said} needs its {where} no longer."
            case Escalate(to):
                note = f"{said} gives up its {where} for remedy {to + 1}."
                told = event_reasons.REMEDIATION_ESCALATED, note
            case _:
                assert_never(request)
        self._record(_happening(target.node, *told, related=what))

    def withdrew_orphan(self, node: Named, record: RemediationRecord) -> None:
        self._metrics.decisions.labels(_CONTROLLER, "WithdrawOrphan").inc()
        what = reference_to(record)
        self._log.info("withdrew orphan", kind=what.kind, namespace=what.namespace, node=node.name)
        note = f"No check answers for its {what.kind} in {what.namespace} any more."
        self._record(_happening(node, event_reasons.REMEDIATION_WITHDRAWN, note, related=what))

    def _followed(self, target: Target, warrant: Warrant, what: ObjectReference) -> None:
        """Who ordered it and why: the line in the log is the lasting record of that."""
        order, past = warrant.order, warrant.order.past_guard
        verdict, passed = ("Override", warrant.passed_by_name) if past else ("Order", "")
        self._metrics.decisions.labels(_CONTROLLER, verdict).inc()
        self._log.info(
            "followed an order",
            order=order.uid,
            by=order.by,
            reason=order.reason,
            past_guard=past,
            passed=passed,
            **_named(target),
        )
        if past:
            note = f"{order.by} let it past the guard ({passed}): {order.reason}"
            self._record(_happening(target.node, event_reasons.OVERRIDE_USED, note, related=what))

    def order_lapsed(self, target: Target, order: Order, why: str) -> None:
        self._metrics.decisions.labels(_CONTROLLER, "OrderLapsed").inc()
        self._log.info("order lapsed", order=order.uid, by=order.by, why=why, **_named(target))
        note = f"The order of {order.by} ends unused: {why}."
        self._record(_happening(target.node, event_reasons.ORDER_LAPSED, note))

    def started(self, target: Target, what: ObjectReference, waited: float | None) -> None:
        self._guard.begin(target.check.metadata.name, what.kind, waited)

    def guarded(self, check: str, guarded: Go | Hold, room: Room | None) -> None:
        self._guard.show_check(check, guarded, room)

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        self._guard.show_cluster(cluster, rooms)

    def still_held(self, check: NodeHealthCheck, note: str) -> None:
        named = check.metadata
        self._log.info("still held", check=named.name, note=note)
        reason, api = event_reasons.STILL_HELD, NODE_HEALTH_CHECK
        self._record(
            Happening(
                ObjectReference(api_version=api.api_version, kind=api.kind, name=named.name, uid=named.uid),
                reason.type,
                reason.word,
                reason.action,
                printable(note),
            )
        )

    def recovering(self, check: NodeHealthCheck, now: tuple[RecoveryReport, ...]) -> None:
        name, counts = check.metadata.name, Counter(one.phase for one in now)
        if check.spec.recovery is None:
            self._metrics.recoveries.remove_by_labels({"check": name})
        else:
            for phase in RecoveryPhase:
                self._metrics.recoveries.labels(name, phase.value).set(counts[phase])
        for news in recovery_news(check.status.recoveries, now):
            self._metrics.decisions.labels(_CONTROLLER, news.reason.word).inc()
            self._log.info("recovery", verdict=news.reason.word, note=news.note, check=name, node=news.name)
            self._record(_happening(news, news.reason, f"nhc/{name}: {news.note}"))

    def counted(self, check: str, tally: Tally | None) -> None:
        if tally is None:
            self._guard.forget_check(check)
            self._metrics.recoveries.remove_by_labels({"check": check})
        for standing in Standing:
            state = standing.value.lower()
            if tally is not None:
                self._metrics.nodes.labels(check, state).set(tally.count(standing))
            else:
                self._metrics.nodes.remove_by_labels({"check": check, "state": state})


def _news(target: Target, before: Entry | None, now: Entry) -> list[tuple[EventReason, str]]:
    """What people should hear. Who stands as before is not told again, unless another hold holds."""
    name, check = target.node.name, f"nhc/{target.check.metadata.name}"
    news = []
    was_unwell = before is not None and before.standing in _UNWELL
    # A new leader finds remediations open: that alone does not say that the node is unhealthy now.
    found_open = before is None and now.standing is Standing.REMEDIATING
    if now.ordered_by and (before is None or before.ordered_by != now.ordered_by):
        news.append(
            (event_reasons.REMEDIATION_ORDERED, f"{now.ordered_by} ordered the remediation of {name}.")
        )
    elif now.standing in _UNWELL and not was_unwell and not found_open:
        news.append((event_reasons.NODE_UNHEALTHY, f"{name} is unhealthy by {check}."))
    match now.standing:
        case Standing.SUSPECT:
            news.append((event_reasons.NODE_SUSPECT, f"{check}: {now.message}."))
        case Standing.HELD:
            news.append((event_reasons.REMEDIATION_HELD, now.message))
        case Standing.HEALTHY:
            news.append((event_reasons.NODE_HEALTHY, f"{name} is healthy by {check}."))
        case Standing.UNHEALTHY | Standing.REMEDIATING | Standing.UNJUDGED | Standing.VANISHED:
            pass
    return news


def _happening(
    about: Named, reason: EventReason, note: str, related: ObjectReference | None = None
) -> Happening:
    node = ObjectReference(api_version=NODE.api_version, kind=NODE.kind, name=about.name, uid=about.uid)
    return Happening(
        regarding=node,
        related=related,
        type=reason.type,
        reason=reason.word,
        action=reason.action,
        note=printable(note),
    )


def _named(target: Target) -> dict[str, object]:
    return {"node": target.node.name, "check": target.check.metadata.name}
