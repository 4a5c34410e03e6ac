"""What the remediator does next, in words."""

from typing import assert_never

from nodemend.decide import remediation_steps as steps
from nodemend.decide.explanation import spell_count
from nodemend.decide.holds import Hold
from nodemend.decide.manual_remediation_steps import ReportSilence, Step


def spell_step(step: Step) -> str:
    """Completes "the remediator ...". A hold is explained elsewhere."""
    match step:
        case steps.AddFinalizer() | steps.Stamp() | steps.RecordTarget() | steps.TakeLock():
            return _begin(step)
        case ReportSilence() | steps.ReportLeft() | steps.MarkReleased():
            return _report(step)
        case steps.RecordEvidence(evidence):
            return f"records the word of {evidence.by} as evidence, and then releases the workloads"
        case steps.Release():
            return "marks the node out of service, so that its pods and volumes are released"
        case steps.Untaint(contradicted=True):
            return "takes the out-of-service taint off, since the node speaks: its workloads may run twice"
        case steps.Untaint() | steps.ForgetTaint():
            return "takes the out-of-service taint off the node"
        case steps.VoidOnNode() | steps.ForgetEvidence() | steps.ClearVoidMark():
            return "voids the evidence, which no longer stands"
        case steps.Close() | steps.DropLock() | steps.DropFinalizer() | steps.Done():
            return _finish(step)
        case Hold():
            return "holds"
        case _:
            assert_never(step)


def spell_left(left: steps.Left) -> str:
    return f"{spell_count(left.pods, 'pod')} and {spell_count(left.attachments, 'volume')}"


def _begin(step: steps.AddFinalizer | steps.Stamp | steps.RecordTarget | steps.TakeLock) -> str:
    match step:
        case steps.AddFinalizer() | steps.Stamp():
            return "takes the remediation on"
        case steps.RecordTarget(boot_id=boot_id):
            return f"records that boot {boot_id} must end"
        case steps.TakeLock():
            return "locks the node against other remediations"


def _report(step: ReportSilence | steps.ReportLeft | steps.MarkReleased) -> str:
    match step:
        case ReportSilence(""):
            return "reports that the kubelet speaks"
        case ReportSilence(renew_time):
            return f"reports that the kubelet has been silent since {renew_time}; then a person can vouch"
        case steps.ReportLeft(left):
            return f"reports that it still waits for {spell_left(left)} to leave the node"
        case steps.MarkReleased():
            return "records that the workloads have left the node"


def _finish(step: steps.Close | steps.DropLock | steps.DropFinalizer | steps.Done) -> str:
    match step:
        case steps.Close(node_gone=True):
            return "closes the remediation, since the Node is gone"
        case steps.Close():
            return "closes the remediation, since the node is back on a new boot"
        case steps.DropLock():
            return "unlocks the node"
        case steps.DropFinalizer():
            return "lets the remediation go"
        case steps.Done():
            return "has nothing left to do here"
