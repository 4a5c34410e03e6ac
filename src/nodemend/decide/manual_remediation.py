"""The life of one ManualRemediation: what its next step is, from fresh facts alone.

Every step is at most one write. A crash between any two leaves a state that this function already knows.

    AddFinalizer -> Stamp -> RecordTarget -> TakeLock -> (hold until a word is believed)
      -> RecordEvidence -> Release -> (hold until pods and volumes are gone) -> MarkReleased
      -> Untaint -> ForgetTaint -> (hold until Ready on a new boot) -> Close -> DropLock
"""

from dataclasses import dataclass

from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.holds import (
    BootUnknown,
    CannotRead,
    Hold,
    HoldReason,
    NoKubeletLease,
    NotBackYet,
    WordContradicted,
)
from nodemend.decide.human_word import Believed, is_disproved, weigh
from nodemend.decide.manual_remediation_steps import ReportSilence, Step
from nodemend.decide.node_left_behind import leave_node
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.remediation_life import (
    OUR_TAINT,
    HeldBy,
    after_new_boot,
    begin,
    clear_out,
    drop_lock_then,
    is_marked,
    is_out_of_service,
    take_lock,
    void,
    was_contradicted,
)
from nodemend.decide.remediation_steps import (
    ClearVoidMark,
    Close,
    Done,
    DropFinalizer,
    ForgetTaint,
    Left,
    RecordEvidence,
    RecordTarget,
    Release,
    Untaint,
)
from nodemend.decide.storm_guard import brake
from nodemend.decide.switch_guard import SwitchFacts, may_release


@dataclass(frozen=True, slots=True)
class ManualFacts:
    """All from fresh reads, but for the two ages, which are measured."""

    remediation: ManualRemediation
    epoch: int
    remembers_from: int
    remembers_for: float
    """Seconds for which the leader's process has watched."""
    node: Seen[NodeFacts]
    void_mark: str
    lease: Seen[LeaseFacts]
    lock: Seen[HeldBy]
    policy: Seen[PolicyFacts]
    switch: Seen[SwitchFacts]
    """Asked only where a confirmation may be recorded."""
    left: Seen[Left]
    word_age: float | None


def decide(facts: ManualFacts) -> Step:
    status = facts.remediation.status
    if first := begin(facts):
        return first
    if facts.remediation.metadata.deleting:
        return _end(facts)
    if status.phase is Phase.SUCCEEDED:
        return drop_lock_then(facts, Done())
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
        against = WordContradicted(status.evidence.by, node.boot_id)
        return clear_out(facts, node, contradicted=contradicted, void_as=against)
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
            believed = weigh(
                facts.remediation.spec.confirmation,
                facts.word_age,
                node,
                lease,
                facts.remembers_for,
                disproved=is_disproved(facts.remediation),
            )
            recorded = facts.remediation.status.evidence
            if recorded is None and is_marked(facts):
                return ClearVoidMark(node)
            if recorded is None:
                return _await_word(facts, lease, believed)
            return _release(facts, node, recorded, believed)


def _await_word(facts: ManualFacts, lease: LeaseFacts, believed: Believed | HoldReason) -> Step:
    silent_since = lease.renew_time if lease.silent else ""
    if facts.remediation.status.last_renew_time != silent_since:
        return ReportSilence(silent_since)
    if not isinstance(believed, Believed):
        return Hold(believed)
    return may_release(facts.switch) or RecordEvidence(_evidence(believed))


def _release(
    facts: ManualFacts, node: NodeFacts, recorded: Evidence, believed: Believed | HoldReason
) -> Step:
    if is_marked(facts):
        # Evidence is recorded only where no mark stands. One beside it voids it, whatever is seen now: who
        # wrote it had reason enough, and died before the evidence was forgotten.
        why = WordContradicted(recorded.by, node.boot_id) if was_contradicted(facts) else _reason(believed)
        return void(facts, node, why)
    # Who has recorded evidence is counted by the others. If those held it up, two could wait for one another.
    gate = open_gate(node, recorded, believed, brake(facts.policy), facts.epoch)
    if isinstance(gate, ReleaseTicket):
        return Release(gate)
    if isinstance(believed, Believed):
        return gate
    # The evidence itself no longer stands: waiting would not bring it back.
    return void(facts, node, believed)


def _reason(believed: Believed | HoldReason) -> HoldReason | None:
    return None if isinstance(believed, Believed) else believed


def _contradicted(facts: ManualFacts, node: NodeFacts, evidence: Evidence) -> bool:
    """Whether the boot that was vouched for is alive."""
    if isinstance(facts.lease, Present) and facts.lease.value.renew_time != evidence.last_renew_time:
        return True
    return node.ready is ConditionStatus.TRUE


def _recover(facts: ManualFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if OUR_TAINT in node.taints:
        return Untaint(node)
    if status.tainted:
        return ForgetTaint()
    if is_marked(facts):
        return ClearVoidMark(node)
    ready = node.ready is ConditionStatus.TRUE
    if node.boot_id != status.boot_id:
        return Close(node_gone=False) if ready else Hold(NotBackYet(node.name))
    if ready:
        by = status.evidence.by if status.evidence else ""
        return Hold(WordContradicted(by, node.boot_id))
    return Hold(NotBackYet(node.name))


def _end(facts: ManualFacts) -> Step:
    """Deleted: leave nothing of ours behind, nothing half done, and nothing that could still land."""
    return leave_node(facts) or drop_lock_then(facts, DropFinalizer())


def _evidence(believed: Believed) -> Evidence:
    word = believed.word
    return Evidence(
        class_="E5",
        node_uid=word.node_uid,
        boot_id=word.boot_id,
        by=word.by,
        reason=word.reason,
        last_renew_time=word.last_renew_time,
    )
