"""The steps in the life of a ManualRemediation."""

from dataclasses import dataclass

from nodemend.decide.holds import Hold
from nodemend.decide.remediation_steps import (
    AddFinalizer,
    ClearVoidMark,
    Close,
    Done,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEvidence,
    RecordTarget,
    Release,
    ReportLeft,
    Stamp,
    TakeLock,
    Untaint,
    VoidOnNode,
)


@dataclass(frozen=True, slots=True)
class ReportSilence:
    """The kubelet's last sign of life, or nothing when it speaks."""

    renew_time: str


Step = (
    AddFinalizer
    | Stamp
    | RecordTarget
    | TakeLock
    | ReportSilence
    | RecordEvidence
    | Release
    | ReportLeft
    | MarkReleased
    | Untaint
    | ForgetTaint
    | VoidOnNode
    | ForgetEvidence
    | ClearVoidMark
    | Close
    | DropLock
    | DropFinalizer
    | Done
    | Hold
)
