"""Log lines, metrics and events about verdicts and requests for Machines.

Logs each change of the visibility of a workload cluster.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Protocol, assert_never

from nodemend.api import well_known
from nodemend.api.upstream_types import ObjectReference
from nodemend.guard.state import CheckCounts, LimitUsage, TargetState, TargetStatus
from nodemend.health.machine.annotation import Clear
from nodemend.health.machine.controller import StartAction
from nodemend.health.machine.index import MachineCheckKey
from nodemend.health.machine.report import BY_DELETION, BY_OWNER
from nodemend.health.machine.request import AskOwnerByCondition, Delete
from nodemend.health.machine.targets import MachineTarget
from nodemend.health.machine.workload_clusters import (
    CONNECTING,
    ClusterNodes,
    ClusterUnreachable,
    ConnectionFailure,
    NodesNotVisible,
    NodeVisibility,
)
from nodemend.health.reporting import EventReasons, EventSubject, HealthEvents
from nodemend.kube.events import EventRecord
from nodemend.records.machine import MachineCheckRecord, MachineRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.request import Create, DeleteRemediation
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold, spell_a
from nodemend.telemetry import event_reasons, metric_labels
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics

_WORDS: Final = EventReasons(event_reasons.MACHINE_HEALTHY, event_reasons.MACHINE_UNHEALTHY)
_QUIET: Final = frozenset({TargetState.HEALTHY, TargetState.UNJUDGED})


class MachineHealthCheckRecorder:
    """Reports verdicts and requests for Machines. `record` takes an event, and never blocks or raises."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None]) -> None:
        self._health_events = HealthEvents(metric_labels.MACHINE_HEALTH_CHECK, _WORDS, log, metrics, record)

    def judged(self, target: MachineTarget, before: TargetStatus | None, now: TargetStatus) -> None:
        """Count a verdict, and report it unless the Machine was and is Healthy, Unjudged or new.

        A new leader evaluates all Machines, and so does a cluster that becomes visible: their first
        verdicts are not changes.
        """
        self._health_events.count(now.state)
        if now.state not in _QUIET or (before is not None and before.state not in _QUIET):
            self._health_events.judged(_subject(target), before, now)

    def asked(self, target: MachineTarget, action: StartAction | DeleteRemediation | Clear) -> None:
        name, subject = action.request, _subject(target)
        self._health_events.count(name)
        self._health_events.log("asked", request=name, **subject.logged)
        match action:
            case AskOwnerByCondition():
                owner = target.machine.owner.kind if target.machine.owner is not None else "owner"
                reported = event_reasons.REMEDIATION_STARTED, f"asked its {owner} to replace it."
            case Delete():
                reported = event_reasons.REMEDIATION_STARTED, "deleted it, to have it replaced."
            case Create():
                reported = event_reasons.REMEDIATION_STARTED, f"created {spell_a(_kind_of(target, action))}."
            case DeleteRemediation():
                reported = (
                    event_reasons.REMEDIATION_WITHDRAWN,
                    "no longer needs its remediation, and deletes it.",
                )
            case Clear():
                reported = event_reasons.REMEDIATION_ANNOTATION_CLEARED, "was taken off: the node is Ready."
            case _:
                assert_never(action)
        reason, note = reported
        self._health_events.tell(subject.regarding, reason, f"{subject.check} {note}")

    def annotation_ignored(self, machine: MachineRecord, why: str) -> None:
        self._health_events.log("annotation ignored", machine=machine.key, node=machine.node, why=why)
        note = f"{well_known.EXTERNAL_REMEDIATION} is ignored on this Machine: {why}. Remove it."
        self._health_events.tell(_reference_to(machine), event_reasons.REMEDIATION_ANNOTATION_IGNORED, note)

    def withdrew(self, machine: MachineRecord, record: RemediationRecord) -> None:
        self._health_events.count(DeleteRemediation.request)
        self._health_events.log("withdrew", remediation=str(record), machine=machine.key, node=machine.node)
        note = f"No Nodemend check requests {record} any more: it was deleted before it released anything."
        self._health_events.tell(_reference_to(machine), event_reasons.REMEDIATION_WITHDRAWN, note)

    def started(self, target: MachineTarget, action: StartAction, waited: float | None) -> None:
        self._health_events.started(_name_of(target.check_key), _kind_of(target, action), waited)

    def still_held(self, check: MachineCheckRecord, note: str) -> None:
        self._health_events.log("still held", check=check.key, note=note)
        self._health_events.tell(_reference_to(check), event_reasons.STILL_HELD, note)

    def overlapped(self, check: MachineCheckRecord, note: str) -> None:
        self._health_events.log("overlapped", check=check.key, note=note)
        self._health_events.tell(_reference_to(check), event_reasons.CHECK_OVERLAPPED, note)

    def still_held_by_annotation(self, key: MachineCheckKey, note: str) -> None:
        """Log only: an event needs an object, and each Machine already has its own event."""
        self._health_events.log("still held", check=_name_of(key), note=note)

    def guarded(self, check: MachineCheckKey, guarded: Allowed | Hold, usage: LimitUsage | None) -> None:
        named = replace(usage, name=_name_of(check)) if usage is not None else None
        self._health_events.guarded(_name_of(check), guarded, named)

    def filled(self, cluster: str, usages: Iterable[LimitUsage]) -> None:
        self._health_events.filled(cluster, usages)

    def counted(self, check: MachineCheckKey, counts: CheckCounts | None) -> None:
        self._health_events.counted(_name_of(check), counts)


def _name_of(check: MachineCheckKey) -> str:
    return f"{check.namespace}/{check.name}"


def _kind_of(target: MachineTarget, action: StartAction) -> str:
    match action:
        case AskOwnerByCondition():
            return BY_OWNER
        case Delete():
            return BY_DELETION
        case Create():
            template = target.check.rules.template
            return template.kind.removesuffix("Template") if template is not None else ""
        case _:
            assert_never(action)


def _subject(target: MachineTarget) -> EventSubject:
    machine = target.machine
    return EventSubject(
        name=machine.name,
        check=well_known.EXTERNAL_REMEDIATION if target.by_annotation else f"mhc/{target.check.name}",
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


class ClusterRecorder(Protocol):
    def looked(self, cluster: str, found: NodeVisibility, failure: ConnectionFailure) -> None:
        """The visibility of a workload cluster is now `found`; `trouble` is the last connection failure."""
        ...


class WorkloadClusterRecorder:
    def __init__(self, log: Log) -> None:
        self._log = log

    def looked(self, cluster: str, found: NodeVisibility, failure: ConnectionFailure) -> None:
        match found:
            case ClusterNodes():
                self._log.info("workload cluster is seen", cluster=cluster, nodes=len(found.nodes))
            case NodesNotVisible(why):
                self._log.warning(
                    "no node is proven to belong to the workload cluster", cluster=cluster, why=why
                )
            case ClusterUnreachable(why):
                say = self._log.info if failure == CONNECTING else self._log.warning
                say("workload cluster is out of reach", cluster=cluster, why=why, detail=failure.detail)
            case _:
                assert_never(found)
