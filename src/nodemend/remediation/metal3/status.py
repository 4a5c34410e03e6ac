"""Status of a Metal3Remediation after each step."""

from typing import Final

from nodemend.api import condition_reasons, condition_types
from nodemend.api.metal3_remediation import Metal3RemediationPhase, Metal3RemediationStatus
from nodemend.remediation.metal3.model import (
    BackUp,
    FailAttempt,
    ForgetBackup,
    PreparePowerOff,
    RecordHostTarget,
    RecordOff,
    ReplaceMachine,
    StartNextAttempt,
    StatusStep,
)
from nodemend.remediation.status import (
    ConditionClaim,
    WaitingForNewBoot,
    after_eviction,
    on_hold,
    reason_of,
    release_conditions,
    tells_hold,
    with_conditions,
    with_evidence,
    without_evidence,
)
from nodemend.safety.holds import Hold, HoldReason
from nodemend.safety.host_power import HostPowerUncertain
from nodemend.safety.lifecycle import (
    Close,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEpoch,
    RecordEvidence,
    ReportRemaining,
)

OVER: Final = (Metal3RemediationPhase.SUCCEEDED, Metal3RemediationPhase.FAILED)
_NOT_SEEN: Final = {"seen_on_version": "", "power_off_events": None, "seen_off": None}
"""The host must be observed on, and then going off, from the beginning."""


def after(
    status: Metal3RemediationStatus, step: StatusStep, *, epoch: int, generation: int, now: str
) -> Metal3RemediationStatus:
    """Return the status that makes `step` true, with its conditions.

    `now` is wall-clock time, for display only.
    """
    changed = _changed(status, step, epoch)
    # Giving up has a reason, as a hold does.
    held = Hold(step.why) if isinstance(step, FailAttempt) else step
    said = _conditions(changed, _why(step))
    return with_conditions(status, changed, held, said, generation=generation, now=now)


def tells(status: Metal3RemediationStatus, hold: Hold) -> bool:
    return tells_hold(status, hold, _why(hold), over=status.phase in OVER)


def _changed(status: Metal3RemediationStatus, step: StatusStep, epoch: int) -> Metal3RemediationStatus:
    match step:
        case RecordEpoch(forgets):
            forgotten = _NOT_SEEN if forgets and status.evidence is None and not status.released else {}
            return status.but(epoch=epoch, **forgotten)
        case RecordHostTarget(node, node_uid, boot_id, host, hardware_id):
            # An earlier observation of power off does not count for this boot: it may have begun since.
            return status.but(
                node_name=node,
                node_uid=node_uid,
                boot_id=boot_id,
                hardware_id=hardware_id,
                host=host,
                **_NOT_SEEN,
            )
        case PreparePowerOff(version, events):
            seen_on = {**_NOT_SEEN, "seen_on_version": version, "power_off_events": events}
            return status.but(phase=Metal3RemediationPhase.POWER_OFF, message="", **seen_on)
        case RecordEvidence(evidence):
            return with_evidence(status, evidence, releasing=Metal3RemediationPhase.RELEASE)
        case ForgetEvidence(why):
            # The host must be observed going off again, so it must be observed on first.
            undone = {"backup": None, **_NOT_SEEN}
            return without_evidence(status, why, phase=Metal3RemediationPhase.POWER_OFF, **undone)
        case Hold(reason):
            return on_hold(status, reason, contradicted=Metal3RemediationPhase.CONTRADICTED)
        case RecordOff(sighting):
            return status.but(seen_off=sighting)
        case BackUp() | ForgetBackup():
            return status.but(backup=step.kept if isinstance(step, BackUp) else None)
        case ReportRemaining() | MarkReleased() | ForgetTaint():
            return after_eviction(status, step, released=Metal3RemediationPhase.POWER_ON)
        case FailAttempt() | StartNextAttempt() | ReplaceMachine() | Close():
            return _turned(status, step)


def _turned(
    status: Metal3RemediationStatus, step: FailAttempt | StartNextAttempt | ReplaceMachine | Close
) -> Metal3RemediationStatus:
    """Apply steps that start another phase."""
    match step:
        case FailAttempt(why, permanent):
            return status.but(
                # No release may rest on it any longer, and the requester may escalate to another remedy.
                evidence=None,
                phase=Metal3RemediationPhase.FAILED if permanent else Metal3RemediationPhase.BACKING_OFF,
                retry_count=status.retry_count + 1,
                message=spell_failure(why),
            )
        case StartNextAttempt():
            return status.but(
                phase=Metal3RemediationPhase.PENDING,
                evidence=None,
                tainted=False,
                released=False,
                message="",
                **_NOT_SEEN,
            )
        case ReplaceMachine():
            return status.but(phase=Metal3RemediationPhase.DELETING_MACHINE, message="")
        case Close(node_gone):
            gone = "The Machine is gone; its owner replaces it."
            message = gone if node_gone else "The node is back on a new boot."
            return status.but(phase=Metal3RemediationPhase.SUCCEEDED, backup=None, message=message)


def spell_failure(why: HoldReason) -> str:
    """Return why an attempt failed, and what would help."""
    said = why.explain()
    if isinstance(why, WaitingForNewBoot):
        return f"{why.node or 'The node'} was not Ready on a new boot in time. {said.next_step}"
    return str(said)


def _why(step: StatusStep) -> str:
    """Return the CamelCase reason for conditions and events."""
    match step:
        case Hold(reason) | FailAttempt(reason, _):
            return _reason_name(reason)
        case ForgetEvidence(HoldReason() as why):
            return _reason_name(why)
        case Close(node_gone=True):
            return condition_reasons.MACHINE_REPLACED
        case _:
            return reason_of(step)


def _reason_name(reason: HoldReason) -> str:
    """Return the reason's name; for a doubtful host the doubt's, so that a new doubt counts as a change."""
    return reason.problem.reason if isinstance(reason, HostPowerUncertain) else reason.reason


def _conditions(status: Metal3RemediationStatus, why: str) -> tuple[ConditionClaim, ...]:
    over, failed = status.phase in OVER, status.phase is Metal3RemediationPhase.FAILED
    # Fenced only while the host is held off: after that, the health check may delete this remediation again.
    fenced = status.evidence is not None and status.phase in (
        Metal3RemediationPhase.RELEASE,
        Metal3RemediationPhase.DELETING_MACHINE,
    )
    released = condition_reasons.POWER_RESTORED if status.released else condition_reasons.WAITING_FOR_EVIDENCE
    by = condition_reasons.POWERED_OFF if fenced else released
    claim = ConditionClaim(condition_types.FENCED, fenced, by)
    return release_conditions(status, why, claim, over=over, failed=failed)
