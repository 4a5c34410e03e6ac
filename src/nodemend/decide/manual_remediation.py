"""The life of one ManualRemediation: what its next step is, from fresh facts alone.

Every step is at most one write. A crash between any two leaves a state that this function already knows.

    AddFinalizer -> Stamp -> RecordTarget -> TakeLock -> (hold until a word is believed)
      -> RecordEvidence -> Release -> (hold until pods and volumes are gone) -> MarkReleased
      -> Untaint -> ForgetTaint -> (hold until Ready on a new boot) -> Close -> DropLock

Evidence that no longer stands is undone in this order: VoidOnNode, ForgetEvidence, ClearVoidMark. The first
raises the Node's version, so that a release write still under way meets a conflict; only then may the second
forget it.
"""

from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.manual_remediation import Evidence, ManualRemediation, Phase
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, PolicyFacts, Present, Seen, Taint, Unreadable
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import (
    BootUnknown,
    CannotRead,
    Deposed,
    Hold,
    HoldReason,
    NoKubeletLease,
    NotBackYet,
    WordContradicted,
    WorkloadsLeaving,
)
from nodemend.decide.human_word import Believed, weigh
from nodemend.decide.manual_remediation_steps import (
    AddFinalizer,
    ClearVoidMark,
    Close,
    Done,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    Left,
    MarkReleased,
    RecordEvidence,
    RecordTarget,
    Release,
    ReportLeft,
    ReportSilence,
    Stamp,
    Step,
    TakeLock,
    Untaint,
    VoidOnNode,
)
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.storm_guard import brake

OUR_TAINT = Taint(keys.OUT_OF_SERVICE, keys.NO_EXECUTE, keys.OUR_TAINT_VALUE)


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Who has the lock on the node. `orphaned` when the holder itself is certainly gone."""

    ours: bool
    holder: str
    orphaned: bool = False


@dataclass(frozen=True, slots=True)
class ManualFacts:
    """All from fresh reads, but for the two ages, which are measured."""

    remediation: ManualRemediation
    epoch: int
    node: Seen[NodeFacts]
    void_mark: str
    lease: Seen[LeaseFacts]
    lock: Seen[HeldBy]
    policy: Seen[PolicyFacts]
    others: Seen[int]
    left: Seen[Left]
    word_age: float | None


def decide(facts: ManualFacts) -> Step:
    metadata, status = facts.remediation.metadata, facts.remediation.status
    if keys.SAFE_END not in metadata.finalizers:
        return Done() if metadata.deleting else AddFinalizer()
    if status.epoch > facts.epoch:
        return Hold(Deposed(facts.epoch, status.epoch))
    if status.epoch < facts.epoch:
        return Stamp()
    if metadata.deleting:
        return _end(facts)
    if status.phase is Phase.SUCCEEDED:
        return _drop_lock_then(facts, Done())
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
    if status.evidence is not None and node.boot_id != status.evidence.boot_id:
        # E2: that boot has ended by itself, and its kubelet ends the old pods. The report of the new one
        # raised the Node's version, so that no release write of ours which is still under way can land.
        return Untaint(node) if OUR_TAINT in node.taints else MarkReleased()
    if status.evidence is not None and OUR_TAINT in node.taints:
        return _clear_out(facts, node, status.evidence)
    if node.boot_id == "":
        return Hold(BootUnknown(node.name))
    if (status.node_uid, status.boot_id) != (node.uid, node.boot_id):
        return RecordTarget(node.uid, node.boot_id)
    match facts.lock:
        case Unreadable(why):
            return Hold(CannotRead("the lock on the node", why))
        case Absent() | Present(HeldBy(orphaned=True)):
            return TakeLock()
        case Present(HeldBy(ours=False, holder=holder)):
            return Hold(OtherRemediation(holder))
        case Present():
            return _before_release(facts, node)


def _before_release(facts: ManualFacts, node: NodeFacts) -> Step:
    match facts.lease:
        case Unreadable(why):
            return Hold(CannotRead("the kubelet's Lease", why))
        case Absent():
            return Hold(NoKubeletLease(node.name))
        case Present(lease):
            believed = weigh(facts.remediation.spec.confirmation, facts.word_age, node, lease)
            recorded = facts.remediation.status.evidence
            if recorded is None and _marked(facts):
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
    guarded = brake(facts.policy, facts.others)
    return guarded if isinstance(guarded, Hold) else RecordEvidence(_evidence(believed))


def _release(
    facts: ManualFacts, node: NodeFacts, recorded: Evidence, believed: Believed | HoldReason
) -> Step:
    gate = open_gate(node, recorded, believed, brake(facts.policy, facts.others), facts.epoch)
    if isinstance(gate, ReleaseTicket):
        return Release(gate)
    if isinstance(believed, Believed):
        return gate
    # The evidence itself no longer stands: waiting would not bring it back.
    return _void(facts, node, believed)


def _clear_out(facts: ManualFacts, node: NodeFacts, evidence: Evidence) -> Step:
    """Our taint is on: wait until it has done its work, unless the node turns out to be alive."""
    alive = node.ready is ConditionStatus.TRUE
    if isinstance(facts.lease, Present):
        alive = alive or facts.lease.value.renew_time != evidence.last_renew_time
    if alive:
        return Untaint(node, contradicted=True)
    match facts.left:
        case Unreadable(why):
            return Hold(CannotRead("the node's pods and volumes", why))
        case Absent() | Present(Left(pods=0, attachments=0)):
            return MarkReleased()
        case Present(left):
            status = facts.remediation.status
            if (left.pods, left.attachments) != (status.pods_left, status.attachments_left):
                return ReportLeft(left)
            return Hold(WorkloadsLeaving(left.pods, left.attachments))


def _recover(facts: ManualFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if OUR_TAINT in node.taints:
        return Untaint(node)
    if status.tainted:
        return ForgetTaint()
    if _marked(facts):
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
    status = facts.remediation.status
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.evidence is not None and node.uid == status.node_uid:
            if OUR_TAINT in node.taints:
                return Untaint(node)
            if not status.released:
                return _void(facts, node, None)
            if _marked(facts):
                return ClearVoidMark(node)
        case Present(node) if _marked(facts):
            return ClearVoidMark(node)
        case Present() | Absent():
            pass
    return _drop_lock_then(facts, DropFinalizer())


def _drop_lock_then(facts: ManualFacts, last: Done | DropFinalizer) -> Step:
    match facts.lock:
        case Unreadable(why):
            return Hold(CannotRead("the lock on the node", why))
        case Present(HeldBy(ours=True)):
            return DropLock()
        case Present() | Absent():
            return last


def _void(facts: ManualFacts, node: NodeFacts, why: HoldReason | None) -> Step:
    # The mark names this version of this remediation: evidence recorded later is not voided by it.
    metadata = facts.remediation.metadata
    mark = f"{metadata.uid}.{metadata.resource_version}"
    return ForgetEvidence(why) if facts.void_mark == mark else VoidOnNode(node, mark)


def _marked(facts: ManualFacts) -> bool:
    return facts.void_mark.startswith(f"{facts.remediation.metadata.uid}.")


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
