"""Log lines, metrics and events about verdicts and requests for Machines, and about workload clusters."""

from typing import Final, assert_never

from nodemend.api import well_known
from nodemend.api.upstream_types import ObjectReference, reference_to
from nodemend.guard.state import TargetState, TargetStatus
from nodemend.health.machine.annotation import Clear
from nodemend.health.machine.request import (
    BY_DELETION,
    BY_OWNER,
    AskOwnerByCondition,
    Delete,
    MachineAction,
    StartAction,
)
from nodemend.health.machine.targets import MachineTarget
from nodemend.health.machine.workload_clusters import (
    CONNECTING,
    ClusterNodes,
    ClusterUnreachable,
    ConnectionFailure,
    NodesNotVisible,
    NodeVisibility,
)
from nodemend.health.reporting import EventReasons, EventSubject, HealthRecorder
from nodemend.records.machine import MachineCheckRecord, MachineRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.request import Create, DeleteRemediation
from nodemend.safety.holds import spell_a
from nodemend.telemetry import event_reasons, metric_labels

_QUIET: Final = frozenset({TargetState.HEALTHY, TargetState.UNJUDGED})


class MachineHealthCheckRecorder(HealthRecorder):
    """Reports verdicts and requests for Machines, and the visibility of workload clusters."""

    controller = metric_labels.MACHINE_HEALTH_CHECK
    words = EventReasons(event_reasons.MACHINE_HEALTHY, event_reasons.MACHINE_UNHEALTHY)

    def judged(self, target: MachineTarget, before: TargetStatus | None, now: TargetStatus) -> None:
        """Count a verdict, and report it unless the Machine was and is Healthy, Unjudged or new.

        A new leader evaluates all Machines, and so does a cluster that becomes visible: their first
        verdicts are not changes.
        """
        self.count(now.state)
        if now.state not in _QUIET or (before is not None and before.state not in _QUIET):
            self.report_change(_subject(target), before, now)

    def asked(self, target: MachineTarget, action: MachineAction) -> None:
        name, subject = action.request, _subject(target)
        self.count(name)
        self._log.info("asked", request=name, **subject.logged)
        match action:
            case AskOwnerByCondition():
                owner = target.machine.owner.kind if target.machine.owner is not None else "owner"
                reason, note = event_reasons.REMEDIATION_STARTED, f"asked its {owner} to replace it."
            case Delete():
                reason, note = event_reasons.REMEDIATION_STARTED, "deleted it, to have it replaced."
            case Create():
                kind = spell_a(_kind_of(target, action))
                reason, note = event_reasons.REMEDIATION_STARTED, f"created {kind}."
            case DeleteRemediation():
                reason = event_reasons.REMEDIATION_WITHDRAWN
                note = "no longer needs its remediation, and deletes it."
            case Clear():
                reason = event_reasons.REMEDIATION_ANNOTATION_CLEARED
                note = "was taken off: the node is Ready."
            case _:
                assert_never(action)
        self.tell(subject.regarding, reason, f"{subject.check} {note}")

    def annotation_ignored(self, machine: MachineRecord, why: str) -> None:
        """Report that an annotation requests the Machine's remediation, and Nodemend ignores it."""
        self._log.info("annotation ignored", machine=machine.key, node=machine.node, why=why)
        note = f"{well_known.EXTERNAL_REMEDIATION} is ignored on this Machine: {why}. Remove it."
        self.tell(reference_to_object(machine), event_reasons.REMEDIATION_ANNOTATION_IGNORED, note)

    def withdrew(self, machine: MachineRecord, record: RemediationRecord) -> None:
        """Report that a remediation that no check of Nodemend requests any longer was deleted."""
        self.count(DeleteRemediation.request)
        self._log.info("withdrew", remediation=str(record), machine=machine.key, node=machine.node)
        note = f"No Nodemend check requests {record} any more: it was deleted before it released anything."
        self.tell(reference_to_object(machine), event_reasons.REMEDIATION_WITHDRAWN, note)

    def started(self, target: MachineTarget, action: StartAction, waited: float | None) -> None:
        """`waited`: seconds since the first finding; None if an earlier remedy has already started."""
        self._guard.begin(target.check_key.full_name, _kind_of(target, action), waited)

    def looked(self, cluster: str, found: NodeVisibility, failure: ConnectionFailure) -> None:
        """Log the new visibility of a workload cluster; `failure` is its last connection failure."""
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
        regarding=reference_to_object(machine),
        logged={"machine": machine.key, "node": machine.node, "check": target.check.key},
    )


def reference_to_object(about: MachineRecord | MachineCheckRecord) -> ObjectReference:
    return reference_to(about.resource, about.name, about.namespace, about.uid)
