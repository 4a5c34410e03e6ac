"""Status of a SelfRemediation after each step."""

from typing import Final, assert_never

from nodemend.api import condition_reasons, condition_types
from nodemend.api.self_remediation import MarkedLease, SelfRemediationPhase, SelfRemediationStatus
from nodemend.remediation.self_fencing.decide import (
    AccumulatingProof,
    ProofContradicted,
    RecordMarker,
    RecordProgress,
    RecordProof,
    StartFencing,
    StatusStep,
    proven_peers,
)
from nodemend.remediation.status import (
    ConditionClaim,
    after_eviction,
    closed,
    on_hold,
    reason_of,
    release_conditions,
    tells_hold,
    with_conditions,
    with_evidence,
    without_evidence,
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
    changed = _changed(status, step, epoch)
    said = _conditions(changed, _why(step))
    return with_conditions(status, changed, step, said, generation=generation, now=now)


def tells(status: SelfRemediationStatus, hold: Hold) -> bool:
    return tells_hold(status, hold, _why(hold), over=status.phase is SelfRemediationPhase.SUCCEEDED)


def _changed(status: SelfRemediationStatus, step: StatusStep, epoch: int) -> SelfRemediationStatus:
    match step:
        case RecordEpoch(forgets):
            forgotten = {"marked": None, **_NOTHING_PROVEN} if forgets and status.evidence is None else {}
            return status.but(epoch=epoch, **forgotten)
        case ReportRemaining() | MarkReleased() | ForgetTaint():
            return after_eviction(status, step, released=SelfRemediationPhase.RECOVERING)
        case ForgetEvidence(why):
            # Forget the counted progress together with the evidence that resulted from it.
            contradicted = status.contradicted or isinstance(why, ProofContradicted)
            changed = status.but(contradicted=contradicted)
            return without_evidence(changed, why, phase=SelfRemediationPhase.FENCING, **_NOTHING_PROVEN)
        case Close():
            return closed(status, step, succeeded=SelfRemediationPhase.SUCCEEDED)
        case Hold(reason):
            return on_hold(status, reason, contradicted=SelfRemediationPhase.CONTRADICTED)
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
            return with_evidence(
                _proven(status, progress), evidence, releasing=SelfRemediationPhase.RELEASING
            )
        case RecordEvidence(evidence):
            return with_evidence(status, evidence, releasing=SelfRemediationPhase.RELEASING)
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


def _why(step: StatusStep) -> str:
    return AccumulatingProof.reason if isinstance(step, RecordProgress) else reason_of(step)


def _conditions(status: SelfRemediationStatus, why: str) -> tuple[ConditionClaim, ...]:
    waiting = condition_reasons.MARKER_PLACED if status.marked else condition_reasons.WAITING_FOR_MARKER
    by = {"E2": condition_reasons.NEW_BOOT, "E4": condition_reasons.PROVEN_BY_TIME}
    shown = by.get(status.evidence.class_, condition_reasons.EVIDENCE) if status.evidence else waiting
    fenced = ConditionClaim(condition_types.FENCED, status.evidence is not None, shown)
    return release_conditions(status, why, fenced, over=status.phase is SelfRemediationPhase.SUCCEEDED)
