"""What a SelfRemediation's status says after each step."""

from typing import Final, assert_never

from nodemend.api.self_remediation import MarkedLease, Phase, SelfRemediationStatus
from nodemend.decide.contradiction import is_contradiction, is_untold, tell_contradiction
from nodemend.decide.fencing_holds import ProofContradicted, Proving
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.remediation_conditions import Said, names, told
from nodemend.decide.remediation_steps import (
    Close,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEvidence,
    RecordTarget,
    ReportLeft,
    Stamp,
)
from nodemend.decide.self_remediation_fencing import proven_peers
from nodemend.decide.self_remediation_steps import (
    BeginFencing,
    NoteMarker,
    NoteProgress,
    RecordProof,
    StatusStep,
)
from nodemend.decide.time_proof import Progress

_Fencing = RecordTarget | BeginFencing | NoteMarker | NoteProgress | RecordProof | RecordEvidence
"""Steps on the way to evidence."""

_NOTHING_PROVEN: Final = {"proven": (), "proven_seconds": 0, "safe_time_seconds": 0}


def after(
    status: SelfRemediationStatus, step: StatusStep, *, epoch: int, generation: int, now: str
) -> SelfRemediationStatus:
    """The status that makes `step` true, with its conditions. `now` is for people only."""
    changed = _changed(status, step, epoch).but(observed_generation=generation)
    if isinstance(step, Stamp):
        return changed
    said = (*_conditions(changed, _why(step)), *tell_contradiction(step, released=status.released))
    return changed.but(conditions=told(status.conditions, said, generation=generation, now=now))


def tells(status: SelfRemediationStatus, hold: Hold) -> bool:
    """Whether a write would tell nothing new: the kind of hold is named already, or all is over."""
    if is_untold(status.conditions, hold.reason, released=status.released):
        return False
    return status.phase is Phase.SUCCEEDED or names(status.conditions, _why(hold))


def _changed(status: SelfRemediationStatus, step: StatusStep, epoch: int) -> SelfRemediationStatus:
    match step:
        case Stamp(forgets):
            forgotten = {"marked": None, **_NOTHING_PROVEN} if forgets and status.evidence is None else {}
            return status.but(epoch=epoch, **forgotten)
        case ReportLeft(left):
            return status.but(pods_left=left.pods, attachments_left=left.attachments)
        case MarkReleased():
            return status.but(
                released=True, pods_left=0, attachments_left=0, phase=Phase.RECOVERING, message=""
            )
        case ForgetTaint():
            return status.but(tainted=False)
        case ForgetEvidence(why):
            return _forgotten(status, contradicted=isinstance(why, ProofContradicted)).but(
                message=str(explain(why)) if why else ""
            )
        case Close(node_gone):
            message = "The Node is gone." if node_gone else "The node is back on a new boot."
            return status.but(phase=Phase.SUCCEEDED, message=message)
        case Hold(reason):
            twice = status.released and is_contradiction(reason, released=True)
            phase = Phase.CONTRADICTED if twice else status.phase
            return status.but(phase=phase, message=str(explain(reason)))
        case _:
            return _fenced(status, step)


def _fenced(status: SelfRemediationStatus, step: _Fencing) -> SelfRemediationStatus:
    match step:
        case RecordTarget(node_uid, boot_id, name, hardware_id):
            return status.but(node_name=name, node_uid=node_uid, boot_id=boot_id, hardware_id=hardware_id)
        case BeginFencing():
            return status.but(phase=Phase.FENCING, message="")
        case NoteMarker(agent):
            marked = MarkedLease(uid=agent.uid, version=agent.version)
            return status.but(marked=marked, message="", **_NOTHING_PROVEN)
        case NoteProgress(progress):
            return _proven(status, progress).but(message=str(explain(_proving(progress))))
        case RecordProof(progress, evidence):
            return _believed(_proven(status, progress).but(evidence=evidence))
        case RecordEvidence(evidence):
            return _believed(status.but(evidence=evidence))
        case _:
            assert_never(step)


def _proven(status: SelfRemediationStatus, progress: Progress) -> SelfRemediationStatus:
    return status.but(
        proven=proven_peers(progress),
        proven_seconds=progress.seconds,
        safe_time_seconds=progress.needed,
    )


def _proving(progress: Progress) -> Proving:
    return Proving(progress.seconds, progress.needed, progress.covered, len(progress.counted))


def _believed(status: SelfRemediationStatus) -> SelfRemediationStatus:
    return status.but(tainted=True, phase=Phase.RELEASING, message="")


def _forgotten(status: SelfRemediationStatus, *, contradicted: bool) -> SelfRemediationStatus:
    """What was counted goes with the evidence that came of it."""
    return status.but(
        evidence=None,
        tainted=False,
        phase=Phase.FENCING,
        contradicted=status.contradicted or contradicted,
        **_NOTHING_PROVEN,
    )


def _why(step: StatusStep) -> str:
    """One CamelCase word for conditions and events."""
    match step:
        case Hold(reason):
            return type(reason).__name__
        case NoteProgress():
            return Proving.__name__
        case ForgetEvidence(why):
            return type(why).__name__ if why else "Stopping"
        case Close(node_gone):
            return "NodeGone" if node_gone else "Recovered"
        case _:
            return "InProgress"


def _conditions(status: SelfRemediationStatus, why: str) -> tuple[Said, ...]:
    """Succeeded is unknown until it is over: to whoever asked for it, False would mean that it failed."""
    over = status.phase is Phase.SUCCEEDED
    waiting = "Marked" if status.marked else "WaitingForMarker"
    by = {"E2": "NewBoot", "E4": "ProvenByTime"}
    fenced = by.get(status.evidence.class_, "Evidence") if status.evidence else waiting
    leaving = "Leaving" if status.evidence else "WaitingForEvidence"
    return (
        Said("Processing", not over, why, status.message),
        Said("Fenced", status.evidence is not None, fenced),
        Said("WorkloadReleased", status.released, "Gone" if status.released else leaving),
        Said("Succeeded", True if over else None, why if over else "InProgress"),
    )
