"""Status of a SelfRemediation after each step."""

from typing import Final, assert_never

from nodemend.api import condition_reasons, condition_types
from nodemend.api.self_remediation import MarkedLease, SelfRemediationPhase, SelfRemediationStatus
from nodemend.remediation.self_fencing.decide import (
    RecordMarker,
    RecordProgress,
    RecordProof,
    StartFencing,
    StatusStep,
    proven_peers,
)
from nodemend.remediation.self_fencing.holds import AccumulatingProof, ProofContradicted
from nodemend.remediation.status import (
    ConditionClaim,
    conditions_of,
    is_contradiction,
    is_unreported,
    names,
    report_contradiction,
)
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    Close,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEpoch,
    RecordEvidence,
    RecordTarget,
    ReportRemaining,
)
from nodemend.safety.time_proof import Progress

_Fencing = RecordTarget | StartFencing | RecordMarker | RecordProgress | RecordProof | RecordEvidence
"""Steps on the way to evidence."""

_NOTHING_PROVEN: Final = {"proven": (), "proven_seconds": 0, "safe_time_seconds": 0}


def after(
    status: SelfRemediationStatus, step: StatusStep, *, epoch: int, generation: int, now: str
) -> SelfRemediationStatus:
    """Return the status that makes `step` true, with its conditions. `now` is only for human readers."""
    changed = _changed(status, step, epoch).but(observed_generation=generation)
    if isinstance(step, RecordEpoch):
        return changed
    said = (*_conditions(changed, _why(step)), *report_contradiction(step, released=status.released))
    return changed.but(conditions=conditions_of(status.conditions, said, generation=generation, now=now))


def tells(status: SelfRemediationStatus, hold: Hold) -> bool:
    """Return whether a write would add no information.

    That is so if the status has the kind of hold already, or the remediation is over.
    """
    if is_unreported(status.conditions, hold.reason, released=status.released):
        return False
    return status.phase is SelfRemediationPhase.SUCCEEDED or names(status.conditions, _why(hold))


def _changed(status: SelfRemediationStatus, step: StatusStep, epoch: int) -> SelfRemediationStatus:
    match step:
        case RecordEpoch(forgets):
            forgotten = {"marked": None, **_NOTHING_PROVEN} if forgets and status.evidence is None else {}
            return status.but(epoch=epoch, **forgotten)
        case ReportRemaining(left):
            return status.but(pods_left=left.pods, attachments_left=left.attachments)
        case MarkReleased():
            return status.but(
                released=True,
                pods_left=0,
                attachments_left=0,
                phase=SelfRemediationPhase.RECOVERING,
                message="",
            )
        case ForgetTaint():
            return status.but(tainted=False)
        case ForgetEvidence(why):
            return _forgotten(status, contradicted=isinstance(why, ProofContradicted)).but(
                message=str(why.explain()) if why else ""
            )
        case Close(node_gone):
            message = "The Node is gone." if node_gone else "The node is back on a new boot."
            return status.but(phase=SelfRemediationPhase.SUCCEEDED, message=message)
        case Hold(reason):
            twice = status.released and is_contradiction(reason, released=True)
            phase = SelfRemediationPhase.CONTRADICTED if twice else status.phase
            return status.but(phase=phase, message=str(reason.explain()))
        case _:
            return _fenced(status, step)


def _fenced(status: SelfRemediationStatus, step: _Fencing) -> SelfRemediationStatus:
    match step:
        case RecordTarget(node_uid, boot_id, name, hardware_id):
            return status.but(node_name=name, node_uid=node_uid, boot_id=boot_id, hardware_id=hardware_id)
        case StartFencing():
            return status.but(phase=SelfRemediationPhase.FENCING, message="")
        case RecordMarker(agent):
            marked = MarkedLease(uid=agent.uid, version=agent.version)
            return status.but(marked=marked, message="", **_NOTHING_PROVEN)
        case RecordProgress(progress):
            return _proven(status, progress).but(message=str(_proof_progress(progress).explain()))
        case RecordProof(progress, evidence):
            return _proof_complete(_proven(status, progress).but(evidence=evidence))
        case RecordEvidence(evidence):
            return _proof_complete(status.but(evidence=evidence))
        case _:
            assert_never(step)


def _proven(status: SelfRemediationStatus, progress: Progress) -> SelfRemediationStatus:
    return status.but(
        proven=proven_peers(progress),
        proven_seconds=progress.seconds,
        safe_time_seconds=progress.needed,
    )


def _proof_progress(progress: Progress) -> AccumulatingProof:
    return AccumulatingProof(progress.seconds, progress.needed, progress.covered, len(progress.counted))


def _proof_complete(status: SelfRemediationStatus) -> SelfRemediationStatus:
    return status.but(tainted=True, phase=SelfRemediationPhase.RELEASING, message="")


def _forgotten(status: SelfRemediationStatus, *, contradicted: bool) -> SelfRemediationStatus:
    """Forget the counted progress together with the evidence that resulted from it."""
    return status.but(
        evidence=None,
        tainted=False,
        phase=SelfRemediationPhase.FENCING,
        contradicted=status.contradicted or contradicted,
        **_NOTHING_PROVEN,
    )


def _why(step: StatusStep) -> str:
    """Return the CamelCase reason for conditions and events."""
    match step:
        case Hold(reason):
            return reason.reason
        case RecordProgress():
            return AccumulatingProof.reason
        case ForgetEvidence(why):
            return why.reason if why else condition_reasons.STOPPING
        case Close(node_gone):
            return condition_reasons.NODE_GONE if node_gone else condition_reasons.RECOVERED
        case _:
            return condition_reasons.IN_PROGRESS


def _conditions(status: SelfRemediationStatus, why: str) -> tuple[ConditionClaim, ...]:
    """Return the conditions.

    Succeeded is Unknown until the end: False would mean to requesters that it failed.
    """
    over = status.phase is SelfRemediationPhase.SUCCEEDED
    waiting = condition_reasons.MARKER_PLACED if status.marked else condition_reasons.WAITING_FOR_MARKER
    by = {"E2": condition_reasons.NEW_BOOT, "E4": condition_reasons.PROVEN_BY_TIME}
    fenced = by.get(status.evidence.class_, condition_reasons.EVIDENCE) if status.evidence else waiting
    leaving = (
        condition_reasons.WORKLOADS_LEAVING if status.evidence else condition_reasons.WAITING_FOR_EVIDENCE
    )
    return (
        ConditionClaim(condition_types.PROCESSING, not over, why, status.message),
        ConditionClaim(condition_types.FENCED, status.evidence is not None, fenced),
        ConditionClaim(
            condition_types.WORKLOAD_RELEASED,
            status.released,
            condition_reasons.WORKLOADS_GONE if status.released else leaving,
        ),
        ConditionClaim(
            condition_types.SUCCEEDED, True if over else None, why if over else condition_reasons.IN_PROGRESS
        ),
    )
