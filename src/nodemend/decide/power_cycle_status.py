"""What a Metal3Remediation's status says after each step."""

from typing import Final

from nodemend.api.power_cycle import Metal3RemediationStatus, Phase
from nodemend.decide.contradiction import is_contradiction, is_untold, tell_contradiction
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.host_holds import HostDoubtful
from nodemend.decide.power_cycle_steps import (
    BackUp,
    BeginAgain,
    ForgetBackup,
    GiveUp,
    HandOver,
    NoteOff,
    RecordTarget,
    WantOff,
)
from nodemend.decide.remediation_conditions import Said, names, told
from nodemend.decide.remediation_steps import (
    Close,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEvidence,
    ReportLeft,
    Stamp,
)

StatusStep = (
    Stamp
    | RecordTarget
    | WantOff
    | NoteOff
    | RecordEvidence
    | BackUp
    | ForgetBackup
    | ReportLeft
    | MarkReleased
    | ForgetTaint
    | ForgetEvidence
    | GiveUp
    | BeginAgain
    | HandOver
    | Close
    | Hold
)

OVER: Final = (Phase.SUCCEEDED, Phase.FAILED)
_NOT_SEEN: Final = {"seen_on_version": "", "power_off_events": None, "seen_off": None}
"""It has to be seen on, and to be seen to go off, from the beginning."""


def after(
    status: Metal3RemediationStatus, step: StatusStep, *, epoch: int, generation: int, now: str
) -> Metal3RemediationStatus:
    """The status that makes `step` true, with its conditions. `now` is printed, by the clock on the wall."""
    changed = _changed(status, step, epoch, now).but(observed_generation=generation)
    if isinstance(step, Stamp):
        return changed
    # Giving up says why, as a hold does.
    held = Hold(step.why) if isinstance(step, GiveUp) else step
    twice = tell_contradiction(held, released=status.released)
    said = (*_conditions(changed, _why(step)), *twice)
    return changed.but(conditions=told(status.conditions, said, generation=generation, now=now))


def tells(status: Metal3RemediationStatus, hold: Hold) -> bool:
    """Whether a write would tell nothing new: the kind of hold is named already, or all is over."""
    if is_untold(status.conditions, hold.reason, released=status.released):
        return False
    return status.phase in OVER or names(status.conditions, _why(hold))


def _changed(
    status: Metal3RemediationStatus, step: StatusStep, epoch: int, now: str
) -> Metal3RemediationStatus:
    match step:
        case Stamp(forgets):
            forgotten = _NOT_SEEN if forgets and status.evidence is None and not status.released else {}
            return status.but(epoch=epoch, **forgotten)
        case RecordTarget(node, node_uid, boot_id, host, hardware_id):
            # What is seen off was not seen to go off under this boot: it may have begun since.
            return status.but(
                node_name=node,
                node_uid=node_uid,
                boot_id=boot_id,
                hardware_id=hardware_id,
                host=host,
                **_NOT_SEEN,
            )
        case WantOff(version, events):
            seen_on = {**_NOT_SEEN, "seen_on_version": version, "power_off_events": events}
            return status.but(phase=Phase.POWER_OFF, message="", **seen_on)
        case RecordEvidence(evidence):
            return status.but(evidence=evidence, tainted=True, phase=Phase.RELEASE, message="")
        case ForgetEvidence(why):
            # It has to be seen to go off anew, so it has to be seen on first.
            message = str(explain(why)) if why else ""
            return status.but(
                evidence=None,
                tainted=False,
                backup=None,
                phase=Phase.POWER_OFF,
                message=message,
                **_NOT_SEEN,
            )
        case Hold(reason):
            twice = status.released and is_contradiction(reason, released=True)
            phase = Phase.CONTRADICTED if twice else status.phase
            return status.but(phase=phase, message=str(explain(reason)))
        case NoteOff() | BackUp() | ForgetBackup() | ReportLeft() | ForgetTaint():
            return _noted(status, step)
        case MarkReleased() | GiveUp() | BeginAgain() | HandOver() | Close():
            return _turned(status, step)


def _noted(
    status: Metal3RemediationStatus, step: NoteOff | BackUp | ForgetBackup | ReportLeft | ForgetTaint
) -> Metal3RemediationStatus:
    """Steps that write one thing down."""
    match step:
        case NoteOff(sighting):
            return status.but(seen_off=sighting)
        case BackUp(kept):
            return status.but(backup=kept)
        case ForgetBackup():
            return status.but(backup=None)
        case ReportLeft(left):
            return status.but(pods_left=left.pods, attachments_left=left.attachments)
        case ForgetTaint():
            return status.but(tainted=False)


def _turned(
    status: Metal3RemediationStatus, step: MarkReleased | GiveUp | BeginAgain | HandOver | Close
) -> Metal3RemediationStatus:
    """Steps with which a new part of its life begins."""
    match step:
        case MarkReleased():
            return status.but(
                released=True, pods_left=0, attachments_left=0, phase=Phase.POWER_ON, message=""
            )
        case GiveUp(why, for_good):
            return status.but(
                # Nothing is released on it any more, and whoever asked may turn to another remedy.
                evidence=None,
                phase=Phase.FAILED if for_good else Phase.BACKING_OFF,
                retry_count=status.retry_count + 1,
                message=str(explain(why)),
            )
        case BeginAgain():
            return status.but(
                phase=Phase.PENDING,
                evidence=None,
                tainted=False,
                released=False,
                message="",
                **_NOT_SEEN,
            )
        case HandOver():
            return status.but(phase=Phase.DELETING_MACHINE, message="")
        case Close(node_gone):
            gone = "Its Machine is gone, as its owner was asked to replace it."
            message = gone if node_gone else "The node is back on a new boot."
            return status.but(phase=Phase.SUCCEEDED, backup=None, message=message)


def _why(step: StatusStep) -> str:
    """One CamelCase word for conditions and events."""
    match step:
        case Hold(reason) | GiveUp(reason, _):
            return _word(reason)
        case ForgetEvidence(why):
            return _word(why) if why else "Stopping"
        case Close(node_gone):
            return "MachineReplaced" if node_gone else "Recovered"
        case _:
            return "InProgress"


def _word(reason: HoldReason) -> str:
    """A doubt about a host by its own name: another one is news."""
    return type(reason.doubt if isinstance(reason, HostDoubtful) else reason).__name__


def _conditions(status: Metal3RemediationStatus, why: str) -> tuple[Said, ...]:
    """Succeeded is unknown until it is over: to whoever asked for it, False would mean that it failed."""
    over, failed = status.phase in OVER, status.phase is Phase.FAILED
    # Not for longer than it is held off: whoever asked for this may take it back again after that.
    fenced = status.evidence is not None and status.phase in (Phase.RELEASE, Phase.DELETING_MACHINE)
    released = "PowerGivenBack" if status.released else "WaitingForEvidence"
    leaving = "Leaving" if status.evidence else "WaitingForEvidence"
    return (
        Said("Processing", not over, why, status.message),
        Said("Fenced", fenced, "PoweredOff" if fenced else released),
        Said("WorkloadReleased", status.released, "Gone" if status.released else leaving),
        Said("Succeeded", not failed if over else None, why if over else "InProgress"),
    )
