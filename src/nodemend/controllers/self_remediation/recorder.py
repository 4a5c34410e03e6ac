"""Tells of every step and every hold of a SelfRemediation."""

from collections.abc import Callable
from typing import Final

from nodemend.api.evidence import Evidence
from nodemend.api.group_versions import SELF_REMEDIATION
from nodemend.api.self_remediation import Phase, SelfRemediation
from nodemend.controllers.remediating.teller import Subject, Teller, Told, spell_taint
from nodemend.decide import remediation_steps as steps
from nodemend.decide.contradiction import says_contradicted
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.self_remediation_steps import NoteProgress, PlaceMarker, RecordProof, Step, TakeMarkerOff
from nodemend.kube.event_book import Happening
from nodemend.kube.ports import Runtime
from nodemend.telemetry import event_reasons
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics

CONTROLLER: Final = "self_remediation"
_ONLY_REPORTS = steps.Stamp | steps.ReportLeft | NoteProgress


class SelfRemediationRecorder:
    """The Recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[Happening], None], runtime: Runtime
    ) -> None:
        self._teller = Teller(CONTROLLER, log, metrics, record, runtime)
        self._agents = metrics.agents

    def took(self, remediation: SelfRemediation, step: Step) -> None:
        told = _tell_fencing(remediation, step) or _tell_release(remediation, step)
        if isinstance(step, steps.ForgetEvidence | steps.MarkReleased) and step.contradicted:
            self._teller.broke_off(_subject(remediation))
        ends_hold = not isinstance(step, _ONLY_REPORTS)
        self._teller.took(_subject(remediation), type(step).__name__, told, ends_hold=ends_hold)

    def agents_seen(self, reporting: int, silent: int) -> None:
        self._agents.labels("reporting").set(reporting)
        self._agents.labels("silent").set(silent)

    def held(self, remediation: SelfRemediation, hold: Hold) -> None:
        self._teller.held(_subject(remediation), hold)


def _subject(remediation: SelfRemediation) -> Subject:
    metadata = remediation.metadata
    status = remediation.status
    twice = says_contradicted(status.conditions)
    return Subject(SELF_REMEDIATION, metadata, _node_of(remediation), status.node_uid, status.released, twice)


def _node_of(remediation: SelfRemediation) -> str:
    return remediation.status.node_name or remediation.metadata.name


def _tell_fencing(remediation: SelfRemediation, step: Step) -> Told | None:
    """What people should hear on the way to evidence, if anything."""
    name = _node_of(remediation)
    match step:
        case PlaceMarker(_, marker):
            said = f"Boot {marker.boot_id} of {name} is to end: nothing feeds its watchdog any more."
            return Told(event_reasons.SELF_FENCING_ASKED, said)
        case RecordProof(_, evidence):
            return Told(event_reasons.BOOT_PROVEN_OVER, _vouched(name, evidence))
        case steps.RecordEvidence(evidence):
            return Told(event_reasons.NEW_BOOT_SEEN, _vouched(name, evidence))
        case TakeMarkerOff():
            said = f"The boot gate of {name} may open: nothing asks for its end any more."
            return Told(event_reasons.MARKER_TAKEN_OFF, said)
        case _:
            return None


def _vouched(name: str, evidence: Evidence) -> str:
    return f"Boot {evidence.boot_id} of {name} is over, by {evidence.by}: {evidence.reason}."


def _tell_release(remediation: SelfRemediation, step: Step) -> Told | None:
    name = _node_of(remediation)
    match step:
        case steps.ForgetEvidence(why) if why is not None:
            return Told(event_reasons.EVIDENCE_VOIDED, str(explain(why)))
        case steps.Release(ticket):
            said = f"{name} is marked out of service: its pods and volumes are released, on evidence"
            return Told(event_reasons.RELEASE_STARTED, f"{said} {ticket.evidence.class_}.")
        case steps.MarkReleased(taint_stays):
            said = f"Nothing of the boot that is over is left on {name}.{spell_taint(taint_stays)}"
            return Told(event_reasons.WORKLOADS_RELEASED, said)
        case steps.Untaint(contradicted=True):
            said = f"{name} speaks, although its boot is over. Its workloads may run twice."
            return Told(event_reasons.NODE_CONTRADICTED_EVIDENCE, said)
        case steps.Untaint():
            said = f"{name} is marked out of service no longer."
            return Told(event_reasons.OUT_OF_SERVICE_TAINT_REMOVED, said)
        case steps.Close(node_gone):
            said = f"The Node {name} is gone." if node_gone else f"{name} is back on a new boot."
            return Told(event_reasons.REMEDIATION_SUCCEEDED, said)
        case steps.DropFinalizer() if remediation.status.phase is not Phase.SUCCEEDED:
            return Told(event_reasons.REMEDIATION_STOPPED, "Deleted, and ended at its safe point.")
        case _:
            return None
