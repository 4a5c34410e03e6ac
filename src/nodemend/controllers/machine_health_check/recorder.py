"""Tells of verdicts on machines and of what was asked for: a log line, a metric, an event on the Machine."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, assert_never

from nodemend.api.event import ObjectReference
from nodemend.controllers.checking.guard_metrics import GuardMetrics
from nodemend.controllers.checking.rooms import Room
from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.controllers.machine_health_check.deeds import Beginning
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.decide.holds import Hold
from nodemend.decide.machine_request import Ask, Delete
from nodemend.decide.remediation_request import Create, Withdraw
from nodemend.decide.storm_guard import Go
from nodemend.kube.event_book import Happening
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable

_CONTROLLER: Final = "machine_health_check"
_QUIET: Final = frozenset({Standing.HEALTHY, Standing.UNJUDGED})
_UNWELL: Final = frozenset({Standing.UNHEALTHY, Standing.HELD, Standing.REMEDIATING})


class MachineHealthCheckRecorder:
    """The recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[Happening], None]) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._guard = GuardMetrics(metrics, _CONTROLLER)

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None:
        """A leader begins with all of them, and a cluster comes into sight with all of its own: no news."""
        self._metrics.decisions.labels(_CONTROLLER, now.standing).inc()
        if now.standing in _QUIET and (before is None or before.standing in _QUIET):
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
                kind = _kind_of(target, deed)
                told = event_reasons.REMEDIATION_STARTED, f"{said} asked for a {kind}."
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

    def started(self, target: Target, deed: Beginning, waited: float | None) -> None:
        self._guard.begin(_name_of(target.check_key), _kind_of(target, deed), waited)

    def still_held(self, check: MachineCheckRecord, note: str) -> None:
        self._log.info("still held", check=check.key, note=note)
        self._record(_happening(check, event_reasons.STILL_HELD, note))

    def guarded(self, check: MachineCheckKey, guarded: Go | Hold, room: Room | None) -> None:
        named = replace(room, name=_name_of(check)) if room is not None else None
        self._guard.show_check(_name_of(check), guarded, named)

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        self._guard.show_cluster(cluster, rooms)

    def counted(self, check: MachineCheckKey, tally: Tally | None) -> None:
        name = _name_of(check)
        if tally is None:
            self._guard.forget_check(name)
        for standing in Standing:
            state = standing.value.lower()
            if tally is not None:
                self._metrics.nodes.labels(name, state).set(tally.count(standing))
            else:
                self._metrics.nodes.remove_by_labels({"check": name, "state": state})


def _name_of(check: MachineCheckKey) -> str:
    return f"{check.namespace}/{check.name}"


def _kind_of(target: Target, deed: Beginning) -> str:
    match deed:
        case Ask():
            return "OwnerRemediation"
        case Delete():
            return "MachineDeletion"
        case Create():
            template = target.check.rules.template
            return template.kind.removesuffix("Template") if template is not None else ""
        case _:
            assert_never(deed)


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
        case Standing.VANISHED:
            # A Machine whose Node is gone is unhealthy by that.
            pass
    return news


def _happening(about: MachineRecord | MachineCheckRecord, reason: EventReason, note: str) -> Happening:
    regarding = ObjectReference(
        api_version=about.resource.api_version,
        kind=about.resource.kind,
        name=about.name,
        namespace=about.namespace,
        uid=about.uid,
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
