"""Tells of verdicts and of what was asked for: a log line, a metric, an event on the Node."""

from collections.abc import Callable
from typing import Final

from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import MANUAL_REMEDIATION, NODE
from nodemend.controllers.node_health_check.gather import Target, remediation_key
from nodemend.controllers.node_health_check.standings import Entry, Standing, Tally
from nodemend.decide.remediation_request import Create, Withdraw
from nodemend.kube.event_book import Happening
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

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None:
        """A node that is healthy when first seen is no news: a leader begins with all of them."""
        self._metrics.decisions.labels(_CONTROLLER, now.standing).inc()
        if before is None and now.standing is Standing.HEALTHY:
            return
        was = before.standing if before else "-"
        self._log.info("judged", standing=now.standing, was=was, note=now.message, **_named(target))
        for reason, note in _news(target, before, now):
            self._record(_happening(target, reason, note))

    def asked(self, target: Target, request: Create | Withdraw) -> None:
        name = type(request).__name__
        namespace, _ = remediation_key(target)
        self._metrics.decisions.labels(_CONTROLLER, name).inc()
        self._log.info("asked", request=name, namespace=namespace, **_named(target))
        said = f"nhc/{target.check.metadata.name}"
        if isinstance(request, Create):
            told = event_reasons.REMEDIATION_STARTED, f"{said} asked for a remediation in {namespace}."
        else:
            told = event_reasons.REMEDIATION_WITHDRAWN, f"{said} needs its remediation no longer."
        self._record(_happening(target, *told))

    def counted(self, check: str, tally: Tally | None) -> None:
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
    if now.standing in _UNWELL and not was_unwell and not found_open:
        news.append((event_reasons.NODE_UNHEALTHY, f"{name} is unhealthy by {check}."))
    match now.standing:
        case Standing.SUSPECT:
            news.append((event_reasons.NODE_SUSPECT, f"{check}: {now.message}."))
        case Standing.HELD:
            news.append((event_reasons.REMEDIATION_HELD, now.message))
        case Standing.HEALTHY:
            news.append((event_reasons.NODE_HEALTHY, f"{name} is healthy by {check}."))
        case Standing.UNHEALTHY | Standing.REMEDIATING | Standing.UNJUDGED:
            pass
    return news


def _happening(target: Target, reason: EventReason, note: str) -> Happening:
    node = ObjectReference(
        api_version=NODE.api_version, kind=NODE.kind, name=target.node.name, uid=target.node.uid
    )
    namespace, name = remediation_key(target)
    about_remediation = reason.action in ("Request", "Withdraw")
    remediation = ObjectReference(
        api_version=MANUAL_REMEDIATION.api_version,
        kind=MANUAL_REMEDIATION.kind,
        name=name,
        namespace=namespace,
    )
    return Happening(
        regarding=node,
        related=remediation if about_remediation else None,
        type=reason.type,
        reason=reason.word,
        action=reason.action,
        note=printable(note),
    )


def _named(target: Target) -> dict[str, object]:
    return {"node": target.node.name, "check": target.check.metadata.name}
