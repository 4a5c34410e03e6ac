"""Tells of verdicts on machines and of what was asked for: a log line, a metric, an event on the Machine."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, assert_never

from nodemend.api import keys
from nodemend.api.event import ObjectReference
from nodemend.controllers.checking.rooms import Room
from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.controllers.checking.telling import Subject, Telling, Words
from nodemend.controllers.machine_health_check.deeds import Beginning
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.history import BY_DELETION, BY_OWNER
from nodemend.decide.annotated_machine import Clear
from nodemend.decide.holds import Hold
from nodemend.decide.machine_request import Ask, Delete
from nodemend.decide.remediation_request import Create, Withdraw
from nodemend.decide.storm_guard import Go
from nodemend.kube.event_book import Happening
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.telemetry import event_reasons
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics

_WORDS: Final = Words(event_reasons.MACHINE_HEALTHY, event_reasons.MACHINE_UNHEALTHY)
_QUIET: Final = frozenset({Standing.HEALTHY, Standing.UNJUDGED})


class MachineHealthCheckRecorder:
    """The recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[Happening], None]) -> None:
        self._telling = Telling("machine_health_check", _WORDS, log, metrics, record)

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None:
        """A leader begins with all of them, and a cluster comes into sight with all of its own: no news."""
        self._telling.count(now.standing)
        if now.standing not in _QUIET or (before is not None and before.standing not in _QUIET):
            self._telling.judged(_subject(target), before, now)

    def asked(self, target: Target, deed: Beginning | Withdraw | Clear) -> None:
        name, subject = type(deed).__name__, _subject(target)
        self._telling.count(name)
        self._telling.log("asked", request=name, **subject.logged)
        match deed:
            case Ask():
                owner = target.machine.owner.kind if target.machine.owner is not None else "owner"
                told = event_reasons.REMEDIATION_STARTED, f"asked its {owner} to replace it."
            case Delete():
                told = event_reasons.REMEDIATION_STARTED, "deleted it, to have it replaced."
            case Create():
                told = event_reasons.REMEDIATION_STARTED, f"asked for a {_kind_of(target, deed)}."
            case Withdraw():
                told = event_reasons.REMEDIATION_WITHDRAWN, "needs its remediation no longer."
            case Clear():
                told = event_reasons.ASKING_SETTLED, "was taken off: the node is Ready."
            case _:
                assert_never(deed)
        reason, note = told
        self._telling.tell(subject.regarding, reason, f"{subject.check} {note}")

    def unheeded(self, machine: MachineRecord, why: str) -> None:
        self._telling.log("unheeded", machine=machine.key, node=machine.node, why=why)
        note = f"{keys.EXTERNAL_REMEDIATION} is not heeded on this Machine: {why}. Take it off."
        self._telling.tell(_reference_to(machine), event_reasons.ASKING_UNHEEDED, note)

    def withdrew(self, machine: MachineRecord, record: RemediationRecord) -> None:
        self._telling.count(Withdraw.__name__)
        self._telling.log("withdrew", remediation=str(record), machine=machine.key, node=machine.node)
        note = f"No check of ours asks for {record} any more: it was withdrawn before it released anything."
        self._telling.tell(_reference_to(machine), event_reasons.REMEDIATION_WITHDRAWN, note)

    def started(self, target: Target, deed: Beginning, waited: float | None) -> None:
        self._telling.started(_name_of(target.check_key), _kind_of(target, deed), waited)

    def still_held(self, check: MachineCheckRecord, note: str) -> None:
        self._telling.log("still held", check=check.key, note=note)
        self._telling.tell(_reference_to(check), event_reasons.STILL_HELD, note)

    def overlapped(self, check: MachineCheckRecord, note: str) -> None:
        self._telling.log("overlapped", check=check.key, note=note)
        self._telling.tell(_reference_to(check), event_reasons.CHECK_OVERLAPPED, note)

    def still_held_by_annotation(self, key: MachineCheckKey, note: str) -> None:
        """An annotation is no object that an event could regard; each Machine has been told of its own."""
        self._telling.log("still held", check=_name_of(key), note=note)

    def guarded(self, check: MachineCheckKey, guarded: Go | Hold, room: Room | None) -> None:
        named = replace(room, name=_name_of(check)) if room is not None else None
        self._telling.guarded(_name_of(check), guarded, named)

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        self._telling.filled(cluster, rooms)

    def counted(self, check: MachineCheckKey, tally: Tally | None) -> None:
        self._telling.counted(_name_of(check), tally)


def _name_of(check: MachineCheckKey) -> str:
    return f"{check.namespace}/{check.name}"


def _kind_of(target: Target, deed: Beginning) -> str:
    match deed:
        case Ask():
            return BY_OWNER
        case Delete():
            return BY_DELETION
        case Create():
            template = target.check.rules.template
            return template.kind.removesuffix("Template") if template is not None else ""
        case _:
            assert_never(deed)


def _subject(target: Target) -> Subject:
    machine = target.machine
    return Subject(
        name=machine.name,
        check=keys.EXTERNAL_REMEDIATION if target.by_annotation else f"mhc/{target.check.name}",
        regarding=_reference_to(machine),
        logged={"machine": machine.key, "node": machine.node, "check": target.check.key},
    )


def _reference_to(about: MachineRecord | MachineCheckRecord) -> ObjectReference:
    return ObjectReference(
        api_version=about.resource.api_version,
        kind=about.resource.kind,
        name=about.name,
        namespace=about.namespace,
        uid=about.uid,
    )
