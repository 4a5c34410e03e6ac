"""Tells of every step and every hold of a ManualRemediation: a log line, a metric, an event on the Node."""

from collections.abc import Callable
from typing import Final

from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import MANUAL_REMEDIATION, NODE
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.decide import manual_remediation_steps as steps
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Deposed, Hold
from nodemend.kube.event_book import Happening
from nodemend.kube.ports import Runtime
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.hold_book import Held
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable

_CONTROLLER: Final = "manual_remediation"
_HOLD_GOES_ON = steps.Stamp | steps.ReportSilence | steps.ReportLeft
"""Steps that only report: what held before them holds after them."""


class ManualRemediationRecorder:
    """The Recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[Happening], None], runtime: Runtime
    ) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._runtime = runtime

    def took(self, remediation: ManualRemediation, step: steps.Step) -> None:
        name = type(step).__name__
        self._metrics.decisions.labels(_CONTROLLER, name).inc()
        if not isinstance(step, _HOLD_GOES_ON):
            self._metrics.holds.strike(_held(remediation))
        told = _tell(remediation, step)
        note = told[1] if told else ""
        self._log.info("step taken", step=name, note=note, **_named(remediation))
        if told is not None:
            self._record(_happening(remediation, *told))

    def held(self, remediation: ManualRemediation, hold: Hold) -> None:
        """The same hold is seen every few seconds: it is logged once, and its event keeps its first words."""
        reason, sentence = type(hold.reason).__name__, str(explain(hold.reason))
        self._metrics.decisions.labels(_CONTROLLER, reason).inc()
        holds, held = self._metrics.holds, _held(remediation)
        before = holds.find(held)
        standing = holds.note(
            held,
            reason,
            sentence,
            wall=self._runtime.wall().timestamp(),
            now=self._runtime.monotonic(),
        )
        if before is None or before.since != standing.since:
            self._log.info("held", reason=reason, note=sentence, **_named(remediation))
        if not isinstance(hold.reason, Deposed):
            # Who was deposed says so in its log. The one at work tells what holds.
            told = event_reasons.REMEDIATION_HELD, standing.sentence
            self._record(_happening(remediation, *told))


def _tell(remediation: ManualRemediation, step: steps.Step) -> tuple[EventReason, str] | None:
    """What people should hear of a step, if anything."""
    name, status = remediation.metadata.name, remediation.status
    match step:
        case steps.RecordEvidence(evidence):
            return (
                event_reasons.HUMAN_CONFIRMED_OFF,
                f"{evidence.by} vouches that {name} is down: {evidence.reason}",
            )
        case steps.ForgetEvidence(why) if why is not None:
            return event_reasons.EVIDENCE_VOIDED, str(explain(why))
        case steps.Release(ticket):
            said = f"{name} is marked out of service: its pods and volumes are released, on the word of"
            return event_reasons.RELEASE_STARTED, f"{said} {ticket.evidence.by}."
        case steps.MarkReleased():
            return event_reasons.WORKLOADS_RELEASED, f"The pods and volumes of {name} are gone from it."
        case steps.Untaint(contradicted=True):
            by = status.evidence.by if status.evidence else "somebody"
            return (
                event_reasons.NODE_CONTRADICTED_EVIDENCE,
                f"{name} speaks, although {by} vouched that it is down. Its workloads may run twice.",
            )
        case steps.Untaint():
            return event_reasons.OUT_OF_SERVICE_TAINT_REMOVED, f"{name} is marked out of service no longer."
        case steps.Close(node_gone):
            said = f"The Node {name} is gone." if node_gone else f"{name} is back on a new boot."
            return event_reasons.REMEDIATION_SUCCEEDED, said
        case steps.DropFinalizer() if status.phase is not Phase.SUCCEEDED:
            return event_reasons.REMEDIATION_STOPPED, "Deleted, and ended at its safe point."
        case _:
            return None


def _happening(remediation: ManualRemediation, reason: EventReason, note: str) -> Happening:
    metadata = remediation.metadata
    owners = (owner.uid for owner in metadata.owner_references if owner.kind == NODE.kind)
    return Happening(
        regarding=ObjectReference(
            api_version=NODE.api_version,
            kind=NODE.kind,
            name=metadata.name,
            uid=remediation.status.node_uid or next(owners, ""),
        ),
        related=ObjectReference(
            api_version=MANUAL_REMEDIATION.api_version,
            kind=MANUAL_REMEDIATION.kind,
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
        ),
        type=reason.type,
        reason=reason.word,
        action=reason.action,
        note=printable(note),
    )


def _held(remediation: ManualRemediation) -> Held:
    metadata = remediation.metadata
    return Held(MANUAL_REMEDIATION.kind, metadata.namespace, metadata.name)


def _named(remediation: ManualRemediation) -> dict[str, object]:
    metadata = remediation.metadata
    return {
        "node": metadata.name,
        "namespace": metadata.namespace,
        "resource_version": metadata.resource_version,
    }
