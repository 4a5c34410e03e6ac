"""State machine of one ManualRemediation: its next step, computed from live reads alone.

Every step is at most one write. After a crash between any two, `decide` continues from the resulting state.

    AddFinalizer -> RecordEpoch -> RecordTarget -> TakeLock -> (hold until a confirmation is accepted)
      -> RecordEvidence -> Release -> (hold until pods and volumes are gone) -> MarkReleased
      -> RemoveTaint -> ForgetTaint -> (hold until Ready on a new boot) -> Close -> DropLock
"""

from dataclasses import dataclass
from typing import ClassVar

from nodemend.api import condition_reasons, condition_types
from nodemend.api.evidence import Evidence
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase, ManualRemediationStatus
from nodemend.api.meta import ConditionStatus
from nodemend.remediation.status import (
    BootUnknown,
    ConditionClaim,
    ReleaseFacts,
    SharedStatusStep,
    SharedStep,
    WaitingForNewBoot,
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
from nodemend.safety.confirmation import Confirmed, evaluate_confirmation, is_disproved
from nodemend.safety.facts import Absent, LeaseFacts, NodeFacts, Present, Unreadable
from nodemend.safety.guard import in_flight_guard
from nodemend.safety.holds import (
    MAY_RUN_TWICE,
    CannotRead,
    ConfirmationDisproved,
    Contradicts,
    Explanation,
    Hold,
    HoldReason,
    NodeReady,
    NoKubeletLease,
)
from nodemend.safety.lifecycle import (
    OUR_TAINT,
    ClearRevocation,
    Close,
    DropFinalizer,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    NothingLeft,
    RecordEpoch,
    RecordEvidence,
    RecordTarget,
    Release,
    RemoveTaint,
    ReportRemaining,
    after_new_boot,
    await_eviction,
    begin,
    drop_lock_then,
    has_revocation,
    is_out_of_service,
    leave_node,
    revoke,
    take_lock,
    was_contradicted,
    was_disproved,
)
from nodemend.safety.release import ReleaseTicket, open_gate
from nodemend.safety.switch_guard import may_release


@dataclass(frozen=True, slots=True)
class ConfirmationContradicted(HoldReason):
    """The boot that the operator confirmed as ended was alive again after its workloads were released."""

    reason: ClassVar[str] = "ConfirmationContradicted"
    contradicts: ClassVar[Contradicts] = Contradicts.ONCE_RELEASED
    by: str
    boot_id: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Boot {self.boot_id}, which {self.by} confirmed to be down, is alive. {MAY_RUN_TWICE}",
            "Power the node off now; then find out which copy of its data is right.",
        )


@dataclass(frozen=True, slots=True)
class ReportSilence:
    """Record the kubelet's last Lease renewal; empty if the kubelet renews its Lease."""

    step: ClassVar[str] = "ReportSilence"
    renew_time: str


StatusStep = SharedStatusStep | RecordTarget | ReportSilence
Step = StatusStep | SharedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualFacts(ReleaseFacts):
    """All from live reads, except the two durations, which are measured."""

    remediation: ManualRemediation
    remembers_for: float
    """Seconds for which the leader's process has watched."""
    confirmation_age: float | None


def decide(facts: ManualFacts) -> Step:
    status = facts.remediation.status
    if first := begin(facts):
        return first
    if facts.remediation.metadata.deleting:
        return _end(facts)
    if status.phase is ManualRemediationPhase.SUCCEEDED:
        return drop_lock_then(facts, NothingLeft())
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.node_uid in ("", node.uid):
            return _pursue(facts, node)
        case Present() | Absent():
            return Close(node_gone=True)


def _pursue(facts: ManualFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if status.released:
        return _recover(facts, node)
    if status.evidence is not None and node.boot_id not in ("", status.evidence.boot_id):
        return after_new_boot(facts, node, status.hardware_id)
    if status.evidence is not None and is_out_of_service(node):
        contradicted = _contradicted(facts, node, status.evidence)
        against = ConfirmationContradicted(status.evidence.by, node.boot_id)
        return await_eviction(facts, node, contradicted=contradicted, revoked_as=against)
    if node.boot_id == "":
        return Hold(BootUnknown(node.name))
    same_boot = (status.node_uid, status.boot_id) == (node.uid, node.boot_id)
    if not same_boot or (status.evidence is None and status.hardware_id != node.hardware_id):
        return RecordTarget(node.uid, node.boot_id, hardware_id=node.hardware_id)
    return take_lock(facts) or _before_release(facts, node)


def _before_release(facts: ManualFacts, node: NodeFacts) -> Step:
    match facts.lease:
        case Unreadable(why):
            return Hold(CannotRead("the kubelet's Lease", why))
        case Absent():
            return Hold(NoKubeletLease(node.name))
        case Present(lease):
            confirmed = evaluate_confirmation(
                facts.remediation.spec.confirmation,
                facts.confirmation_age,
                node,
                lease,
                facts.remembers_for,
                disproved=is_disproved(facts.remediation),
            )
            recorded = facts.remediation.status.evidence
            if recorded is None and has_revocation(facts):
                return ClearRevocation(node)
            if recorded is None:
                return _await_confirmation(facts, lease, confirmed)
            return _release(facts, node, recorded, confirmed)


def _await_confirmation(facts: ManualFacts, lease: LeaseFacts, confirmed: Confirmed | HoldReason) -> Step:
    silent_since = lease.renew_time if lease.silent else ""
    if facts.remediation.status.last_renew_time != silent_since:
        return ReportSilence(silent_since)
    if not isinstance(confirmed, Confirmed):
        return Hold(confirmed)
    return may_release(facts.switch) or RecordEvidence(_evidence(confirmed))


def _release(
    facts: ManualFacts, node: NodeFacts, recorded: Evidence, confirmed: Confirmed | HoldReason
) -> Step:
    if has_revocation(facts):
        # Evidence is recorded only while no revocation is set. A revocation beside evidence revokes it,
        # regardless of the current state: the leader that wrote it had a reason, and stopped before it forgot
        # the evidence.
        why = None if isinstance(confirmed, Confirmed) else confirmed
        if was_disproved(facts):
            why = ConfirmationDisproved()
        if was_contradicted(facts):
            why = ConfirmationContradicted(recorded.by, node.boot_id)
        return revoke(facts, node, why)
    # The guard checks only mode and pause here: other remediations already count this one. If they held it,
    # two could wait for each other.
    gate = open_gate(node, recorded, confirmed, in_flight_guard(facts.policy), facts.epoch)
    if isinstance(gate, ReleaseTicket):
        return Release(gate)
    if isinstance(confirmed, Confirmed):
        return gate
    # The evidence itself is no longer valid, and waiting would not restore it.
    return revoke(facts, node, confirmed, disproved=isinstance(confirmed, NodeReady))


def _contradicted(facts: ManualFacts, node: NodeFacts, evidence: Evidence) -> bool:
    """Return whether the boot that the evidence declares ended is alive."""
    if isinstance(facts.lease, Present) and facts.lease.value.renew_time != evidence.last_renew_time:
        return True
    return node.ready is ConditionStatus.TRUE


def _recover(facts: ManualFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if OUR_TAINT in node.taints:
        return RemoveTaint(node)
    if status.tainted:
        return ForgetTaint()
    if has_revocation(facts):
        return ClearRevocation(node)
    ready = node.ready is ConditionStatus.TRUE
    if node.boot_id != status.boot_id:
        return Close(node_gone=False) if ready else Hold(WaitingForNewBoot(node.name))
    if ready:
        by = status.evidence.by if status.evidence else ""
        return Hold(ConfirmationContradicted(by, node.boot_id))
    return Hold(WaitingForNewBoot(node.name))


def _end(facts: ManualFacts) -> Step:
    """Return the next step of a deleted remediation: leave nothing behind, no write in flight."""
    return leave_node(facts) or drop_lock_then(facts, DropFinalizer())


def _evidence(confirmed: Confirmed) -> Evidence:
    confirmation = confirmed.confirmation
    return Evidence(
        class_="E5",
        node_uid=confirmation.node_uid,
        boot_id=confirmation.boot_id,
        by=confirmation.by,
        reason=confirmation.reason,
        last_renew_time=confirmation.last_renew_time,
    )


def after(
    status: ManualRemediationStatus, step: StatusStep, *, epoch: int, generation: int, now: str
) -> ManualRemediationStatus:
    """Return the status that makes `step` true, with its conditions. `now` is only for human readers."""
    changed = _changed(status, step, epoch)
    if isinstance(step, ForgetEvidence) and (
        step.contradicted or isinstance(step.why, NodeReady | ConfirmationDisproved)
    ):
        changed = changed.but(disproved_generation=generation)
    said = _conditions(changed, reason_of(step))
    return with_conditions(status, changed, step, said, generation=generation, now=now)


def tells(status: ManualRemediationStatus, hold: Hold) -> bool:
    return tells_hold(status, hold, reason_of(hold), over=status.phase is ManualRemediationPhase.SUCCEEDED)


def _changed(status: ManualRemediationStatus, step: StatusStep, epoch: int) -> ManualRemediationStatus:
    match step:
        case RecordEpoch(forgets):
            return status.but(epoch=epoch, last_renew_time="" if forgets else status.last_renew_time)
        case RecordTarget(node_uid, boot_id, hardware_id=hardware_id):
            return status.but(
                node_uid=node_uid,
                boot_id=boot_id,
                hardware_id=hardware_id,
                last_renew_time="",
                phase=ManualRemediationPhase.WAITING_FOR_CONFIRMATION,
            )
        case ReportSilence(renew_time):
            return status.but(last_renew_time=renew_time)
        case RecordEvidence(evidence):
            return with_evidence(status, evidence, releasing=ManualRemediationPhase.RELEASING)
        case ReportRemaining() | MarkReleased() | ForgetTaint():
            return after_eviction(status, step, released=ManualRemediationPhase.RECOVERING)
        case ForgetEvidence(why):
            return without_evidence(status, why, phase=ManualRemediationPhase.WAITING_FOR_CONFIRMATION)
        case Close():
            return closed(status, step, succeeded=ManualRemediationPhase.SUCCEEDED)
        case Hold(reason):
            return on_hold(status, reason, contradicted=ManualRemediationPhase.CONTRADICTED)


def _conditions(status: ManualRemediationStatus, why: str) -> tuple[ConditionClaim, ...]:
    by = condition_reasons.OPERATOR_CONFIRMED if status.evidence else condition_reasons.WAITING_FOR_EVIDENCE
    fenced = ConditionClaim(condition_types.FENCED, status.evidence is not None, by)
    return release_conditions(status, why, fenced, over=status.phase is ManualRemediationPhase.SUCCEEDED)
