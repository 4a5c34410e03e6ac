"""Tells of every step and every hold of a ManualRemediation."""

from collections.abc import Callable
from typing import Final

from nodemend.api.group_versions import MANUAL_REMEDIATION, NODE
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.controllers.remediating.teller import Subject, Teller, Told, spell_taint
from nodemend.decide import remediation_steps as steps
from nodemend.decide.contradiction import says_contradicted
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.manual_remediation_steps import ReportSilence, Step
from nodemend.kube.event_book import Happening
from nodemend.kube.ports import Runtime
from nodemend.telemetry import event_reasons
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics

CONTROLLER: Final = "manual_remediation"
_ONLY_REPORTS = steps.Stamp | ReportSilence | steps.ReportLeft


class ManualRemediationRecorder:
    """The Recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[Happening], None], runtime: Runtime
    ) -> None:
        self._teller = Teller(CONTROLLER, log, metrics, record, runtime)

    def took(self, remediation: ManualRemediation, step: Step) -> None:
        told = _tell(remediation, step)
        if isinstance(step, steps.ForgetEvidence | steps.MarkReleased) and step.contradicted:
            self._teller.broke_off(_subject(remediation))
        ends_hold = not isinstance(step, _ONLY_REPORTS)
        self._teller.took(_subject(remediation), type(step).__name__, told, ends_hold=ends_hold)

    def held(self, remediation: ManualRemediation, hold: Hold) -> None:
        self._teller.held(_subject(remediation), hold)


def _subject(remediation: ManualRemediation) -> Subject:
    metadata = remediation.metadata
    owners = (owner.uid for owner in metadata.owner_references if owner.kind == NODE.kind)
    uid = remediation.status.node_uid or next(owners, "")
    status = remediation.status
    twice = says_contradicted(status.conditions)
    return Subject(MANUAL_REMEDIATION, metadata, metadata.name, uid, status.released, twice)


def _tell(remediation: ManualRemediation, step: Step) -> Told | None:
    """What people should hear of a step, if anything."""
    name, status = remediation.metadata.name, remediation.status
    match step:
        case steps.RecordEvidence(evidence):
            said = f"{evidence.by} vouches that {name} is down: {evidence.reason}"
            return Told(event_reasons.HUMAN_CONFIRMED_OFF, said)
        case steps.ForgetEvidence(why) if why is not None:
            return Told(event_reasons.EVIDENCE_VOIDED, str(explain(why)))
        case steps.Release(ticket):
            said = f"{name} is marked out of service: its pods and volumes are released, on the word of"
            return Told(event_reasons.RELEASE_STARTED, f"{said} {ticket.evidence.by}.")
        case steps.MarkReleased(taint_stays):
            said = f"The pods and volumes of {name} are gone from it.{spell_taint(taint_stays)}"
            return Told(event_reasons.WORKLOADS_RELEASED, said)
        case steps.Untaint(contradicted=True):
            by = status.evidence.by if status.evidence else "somebody"
            said = f"{name} speaks, although {by} vouched that it is down. Its workloads may run twice."
            return Told(event_reasons.NODE_CONTRADICTED_EVIDENCE, said)
        case steps.Untaint():
            said = f"{name} is marked out of service no longer."
            return Told(event_reasons.OUT_OF_SERVICE_TAINT_REMOVED, said)
        case steps.Close(node_gone):
            said = f"The Node {name} is gone." if node_gone else f"{name} is back on a new boot."
            return Told(event_reasons.REMEDIATION_SUCCEEDED, said)
        case steps.DropFinalizer() if status.phase is not Phase.SUCCEEDED:
            return Told(event_reasons.REMEDIATION_STOPPED, "Deleted, and ended at its safe point.")
        case _:
            return None
