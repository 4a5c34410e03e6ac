"""What a ManualRemediation's status says after each step."""

from nodemend.api.manual_remediation import ManualRemediationStatus, Phase
from nodemend.decide.contradiction import is_contradiction, is_untold, tell_contradiction
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold, NodeReady
from nodemend.decide.manual_remediation_steps import ReportSilence
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

StatusStep = (
    Stamp
    | RecordTarget
    | ReportSilence
    | RecordEvidence
    | ReportLeft
    | MarkReleased
    | ForgetTaint
    | ForgetEvidence
    | Close
    | Hold
)


def after(
    status: ManualRemediationStatus, step: StatusStep, *, epoch: int, generation: int, now: str
) -> ManualRemediationStatus:
    """The status that makes `step` true, with its conditions. `now` is for people only."""
    changed = _changed(status, step, epoch).but(observed_generation=generation)
    if isinstance(step, ForgetEvidence) and (step.contradicted or isinstance(step.why, NodeReady)):
        changed = changed.but(disproved_generation=generation)
    if isinstance(step, Stamp):
        return changed
    said = (*_conditions(changed, _why(step)), *tell_contradiction(step, released=status.released))
    return changed.but(conditions=told(status.conditions, said, generation=generation, now=now))


def tells(status: ManualRemediationStatus, hold: Hold) -> bool:
    """Whether a write would tell nothing new: the kind of hold is named already, or all is over."""
    if is_untold(status.conditions, hold.reason, released=status.released):
        return False
    return status.phase is Phase.SUCCEEDED or names(status.conditions, _why(hold))


def _changed(status: ManualRemediationStatus, step: StatusStep, epoch: int) -> ManualRemediationStatus:
    match step:
        case Stamp(forgets):
            return status.but(epoch=epoch, last_renew_time="" if forgets else status.last_renew_time)
        case RecordTarget(node_uid, boot_id, hardware_id=hardware_id):
            return status.but(
                node_uid=node_uid,
                boot_id=boot_id,
                hardware_id=hardware_id,
                last_renew_time="",
                phase=Phase.AWAITING_WORD,
            )
        case ReportSilence(renew_time):
            return status.but(last_renew_time=renew_time)
        case RecordEvidence(evidence):
            return status.but(evidence=evidence, tainted=True, phase=Phase.RELEASING, message="")
        case ReportLeft(left):
            return status.but(pods_left=left.pods, attachments_left=left.attachments)
        case MarkReleased():
            return status.but(
                released=True, pods_left=0, attachments_left=0, phase=Phase.RECOVERING, message=""
            )
        case ForgetTaint():
            return status.but(tainted=False)
        case ForgetEvidence(why):
            message = str(explain(why)) if why else ""
            return status.but(evidence=None, tainted=False, phase=Phase.AWAITING_WORD, message=message)
        case Close(node_gone):
            message = "The Node is gone." if node_gone else "The node is back on a new boot."
            return status.but(phase=Phase.SUCCEEDED, message=message)
        case Hold(reason):
            twice = status.released and is_contradiction(reason, released=True)
            phase = Phase.CONTRADICTED if twice else status.phase
            return status.but(phase=phase, message=str(explain(reason)))


def _why(step: StatusStep) -> str:
    """One CamelCase word for conditions and events."""
    match step:
        case Hold(reason):
            return type(reason).__name__
        case ForgetEvidence(why):
            return type(why).__name__ if why else "Stopping"
        case Close(node_gone):
            return "NodeGone" if node_gone else "Recovered"
        case _:
            return "InProgress"


def _conditions(status: ManualRemediationStatus, why: str) -> tuple[Said, ...]:
    """Succeeded is unknown until it is over: to whoever asked for it, False would mean that it failed."""
    over = status.phase is Phase.SUCCEEDED
    fenced = "HumanConfirmed" if status.evidence else "WaitingForEvidence"
    leaving = "Leaving" if status.evidence else "WaitingForEvidence"
    return (
        Said("Processing", not over, why, status.message),
        Said("Fenced", status.evidence is not None, fenced),
        Said("WorkloadReleased", status.released, "Gone" if status.released else leaving),
        Said("Succeeded", True if over else None, why if over else "InProgress"),
    )
