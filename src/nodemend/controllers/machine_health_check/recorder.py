"""Tells of verdicts on machines and of what was asked for: a log line, a metric, an event on the Machine."""

from collections.abc import Callable
from typing import Final, assert_never

from nodemend.api.event import ObjectReference
from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.controllers.machine_health_check.deeds import Beginning
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.decide.machine_request import Ask, Delete
from nodemend.decide.remediation_request import Create, Withdraw
from nodemend.kube.event_book import Happening
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable

_CONTROLLER: Final = "machine_health_check"
_UNWELL: Final = frozenset({Standing.UNHEALTHY, Standing.HELD, Standing.REMEDIATING})


class MachineHealthCheckRecorder:
    """The recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[Happening], None]) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None:
        """A machine that is healthy when first seen is no news: a leader begins with all of them."""
        self._metrics.decisions.labels(_CONTROLLER, now.standing).inc()
        if before is None and now.standing is Standing.HEALTHY:
            return
        was = before.standing if before else "-"
        self._log.info("judged", standing=now.standing, was=was, note=now.message, **_named(target))
        for reason, note in _news(target, before, now):
            self._record(_happening(target.machine, reason, note))

    def asked(self, target: Target, deed: Beginning | Withdraw) -> None:
        name = type(deed).__name__
        self._metrics.decisions.labels(_CONTROLLER, name).inc()
        self._log.info("asked", request=name, **_named(target))
        said = f"mhc/{target.check.name}"
        match deed:
            case Ask():
                owner = target.machine.owner.kind if target.machine.owner is not None else "owner"
                told = event_reasons.REMEDIATION_STARTED, f"{said} asked its {owner} to replace it."
            case Delete():
                told = event_reasons.REMEDIATION_STARTED, f"{said} deleted it, to have it replaced."
            case Create():
                kind = target.check.rules.template.kind if target.check.rules.template is not None else ""
                told = (
                    event_reasons.REMEDIATION_STARTED,
                    f"{said} asked for a {kind.removesuffix('Template')}.",
                )
            case Withdraw():
                told = event_reasons.REMEDIATION_WITHDRAWN, f"{said} needs its remediation no longer."
            case _:
                assert_never(deed)
        self._record(_happening(target.machine, *told))

    def withdrew(self, machine: MachineRecord, record: RemediationRecord) -> None:
        self._metrics.decisions.labels(_CONTROLLER, Withdraw.__name__).inc()
        self._log.info("withdrew", remediation=str(record), machine=machine.key, node=machine.node)
        note = f"No check of ours asks for {record} any more: it was withdrawn before it released anything."
        self._record(_happening(machine, event_reasons.REMEDIATION_WITHDRAWN, note))

    def counted(self, check: MachineCheckKey, tally: Tally | None) -> None:
        name = f"{check.namespace}/{check.name}"
        for standing in Standing:
            state = standing.value.lower()
            if tally is not None:
                self._metrics.nodes.labels(name, state).set(tally.count(standing))
            else:
                self._metrics.nodes.remove_by_labels({"check": name, "state": state})


def _news(target: Target, before: Entry | None, now: Entry) -> list[tuple[EventReason, str]]:
    """What people should hear. Who stands as before is not told again, unless another hold holds."""
    name, check = target.machine.name, f"mhc/{target.check.name}"
    news = []
    was_unwell = before is not None and before.standing in _UNWELL
    # A new leader finds remediations open: that alone does not say that the machine is unhealthy now.
    found_open = before is None and now.standing is Standing.REMEDIATING
    if now.standing in _UNWELL and not was_unwell and not found_open:
        news.append((event_reasons.MACHINE_UNHEALTHY, f"{name} is unhealthy by {check}."))
    match now.standing:
        case Standing.HELD:
            news.append((event_reasons.REMEDIATION_HELD, now.message))
        case Standing.HEALTHY:
            news.append((event_reasons.MACHINE_HEALTHY, f"{name} is healthy by {check}."))
        case Standing.SUSPECT | Standing.UNHEALTHY | Standing.REMEDIATING | Standing.UNJUDGED:
            pass
    return news


def _happening(machine: MachineRecord, reason: EventReason, note: str) -> Happening:
    regarding = ObjectReference(
        api_version=machine.resource.api_version,
        kind=machine.resource.kind,
        name=machine.name,
        namespace=machine.namespace,
        uid=machine.uid,
    )
    return Happening(
        regarding=regarding,
        related=None,
        type=reason.type,
        reason=reason.word,
        action=reason.action,
        note=printable(note),
    )


def _named(target: Target) -> dict[str, object]:
    return {"machine": target.machine.key, "node": target.machine.node, "check": target.check.key}
