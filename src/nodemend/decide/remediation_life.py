"""What the lives of all remediations that release workloads have in common.

    AddFinalizer -> Stamp -> RecordTarget -> TakeLock -> ... -> Release -> (until pods and volumes are gone)
      -> MarkReleased -> Untaint -> ForgetTaint -> ... -> DropLock

Evidence that no longer stands is undone in this order: VoidOnNode, ForgetEvidence, ClearVoidMark. The first
raises the Node's version, so that a release write still under way meets a conflict; only then may the second
forget it.

A leader believes what an earlier one recorded only where its own process has watched since before that one's
term: else etcd may have been restored in between, and what a backup shows is no evidence. It forgets the rest
before it stamps the remediation with its own epoch.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from nodemend.api import keys
from nodemend.api.evidence import Evidence
from nodemend.api.object_meta import ObjectMeta
from nodemend.decide.facts import Absent, NodeFacts, Present, Seen, Taint, Unreadable
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import (
    CannotRead,
    Deposed,
    EvidenceFromBefore,
    Hold,
    HoldReason,
    NewBootUnproven,
    TaintedByAnother,
    WorkloadsLeaving,
)
from nodemend.decide.remediation_steps import (
    AddFinalizer,
    ClearVoidMark,
    Done,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    Left,
    MarkReleased,
    ReportLeft,
    Stamp,
    TakeLock,
    Untaint,
    VoidOnNode,
)

_CONTRADICTED: Final = ".contradicted"
"""Ends the mark that the Node gets where a release is broken off because its evidence was wrong."""
OUR_TAINT: Final = Taint(keys.OUT_OF_SERVICE, keys.NO_EXECUTE, keys.OUR_TAINT_VALUE)


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Who has the lock on the node. `orphaned` when the holder itself is certainly gone."""

    ours: bool
    holder: str
    orphaned: bool = False


@dataclass(frozen=True, slots=True)
class Tenure:
    """One leadership, and what its process remembers from before it."""

    epoch: int
    remembers_from: int
    """Terms with a higher epoch began while this process watched."""
    remembers_since: float
    """When that began, by its monotonic clock."""


class Standing(Protocol):
    """What every status of such a remediation tells."""

    @property
    def epoch(self) -> int: ...
    @property
    def evidence(self) -> Evidence | None: ...
    @property
    def released(self) -> bool: ...
    @property
    def pods_left(self) -> int: ...
    @property
    def attachments_left(self) -> int: ...


class Remediation(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def status(self) -> Standing: ...


class LifeFacts(Protocol):
    """All from fresh reads."""

    @property
    def remediation(self) -> Remediation: ...
    @property
    def epoch(self) -> int: ...
    @property
    def remembers_from(self) -> int: ...
    @property
    def node(self) -> Seen[NodeFacts]: ...
    @property
    def void_mark(self) -> str: ...
    @property
    def lock(self) -> Seen[HeldBy]: ...
    @property
    def left(self) -> Seen[Left]: ...


Disowning = Untaint | VoidOnNode | ForgetEvidence | ClearVoidMark
First = AddFinalizer | Disowning | Stamp | Done | Hold


def begin(facts: LifeFacts) -> First | None:
    """What comes before anything else; None when it is done."""
    metadata, status = facts.remediation.metadata, facts.remediation.status
    if keys.SAFE_END not in metadata.finalizers:
        return Done() if metadata.deleting else AddFinalizer()
    if status.epoch > facts.epoch:
        return Hold(Deposed(facts.epoch, status.epoch))
    if status.epoch == facts.epoch:
        return None
    if status.epoch == 0 or status.epoch > facts.remembers_from:
        return Stamp()
    return _disown(facts) or Stamp(forgets=True)


def _disown(facts: LifeFacts) -> Disowning | Hold | None:
    """Evidence that may be from before a restore of etcd is void, and so is a release that rests on it.

    The mark that voids it goes before there is other evidence, which it would void as well.
    """
    status = facts.remediation.status
    if status.released:
        return None
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.evidence is None:
            return ClearVoidMark(node) if is_marked(facts) else None
        case _ if status.evidence is None:
            return None
        case Present(node) if node.uid == status.evidence.node_uid:
            if OUR_TAINT in node.taints:
                return Untaint(node, mark=mark_for(facts))
            return void(facts, node, EvidenceFromBefore(status.epoch, facts.remembers_from))
        case Present() | Absent():
            # Nothing can be released on it any more.
            return None


def take_lock(facts: LifeFacts) -> TakeLock | Hold | None:
    """None when the lock on the node is ours."""
    match facts.lock:
        case Unreadable(why):
            return Hold(CannotRead("the lock on the node", why))
        case Absent() | Present(HeldBy(orphaned=True)):
            return TakeLock()
        case Present(HeldBy(ours=False, holder=holder)):
            return Hold(OtherRemediation(holder))
        case Present():
            return None


def drop_lock_then(
    facts: LifeFacts, last: Done | DropFinalizer | Hold
) -> DropLock | Done | DropFinalizer | Hold:
    match facts.lock:
        case Unreadable(why):
            return Hold(CannotRead("the lock on the node", why))
        case Present(HeldBy(ours=True)):
            return DropLock()
        case Present() | Absent():
            return last


def taint_of_another(node: NodeFacts) -> Taint | None:
    """The out-of-service taint of another, where it keeps ours away: taints are unique by key and effect."""
    place = (OUR_TAINT.key, OUR_TAINT.effect)
    found = (taint for taint in node.taints if (taint.key, taint.effect) == place and taint != OUR_TAINT)
    return next(found, None)


def is_out_of_service(node: NodeFacts) -> bool:
    """Kubernetes removes its pods and volumes by force, whoever asked for that."""
    return OUR_TAINT in node.taints or taint_of_another(node) is not None


def clear_out(
    facts: LifeFacts, node: NodeFacts, *, contradicted: bool, void_as: HoldReason
) -> Untaint | MarkReleased | ReportLeft | VoidOnNode | ForgetEvidence | Hold:
    """The node is out of service: wait until its workloads are gone, unless the evidence is contradicted.

    Another's taint is not ours to remove: then the evidence alone is voided, as `void_as` says.
    """
    theirs = taint_of_another(node)
    if theirs is not None and (contradicted or is_marked(facts)):
        return void(facts, node, void_as, contradicted=contradicted)
    if contradicted:
        return Untaint(node, contradicted=True, mark=_mark(facts, contradicted=True))
    match facts.left:
        case Unreadable(why):
            return Hold(CannotRead("the node's pods and volumes", why))
        case Absent() | Present(Left(pods=0, attachments=0)):
            return MarkReleased(taint_stays=str(theirs) if theirs else "")
        case Present(left):
            status = facts.remediation.status
            if (left.pods, left.attachments) != (status.pods_left, status.attachments_left):
                return ReportLeft(left)
            if theirs is not None:
                return Hold(TaintedByAnother(node.name, str(theirs), left.pods, left.attachments))
            return Hold(WorkloadsLeaving(left.pods, left.attachments))


def void(
    facts: LifeFacts, node: NodeFacts, why: HoldReason | None, *, contradicted: bool = False
) -> VoidOnNode | ForgetEvidence:
    """`contradicted` is kept from the first mark on, until it is told in the status."""
    wrong = contradicted or was_contradicted(facts)
    mark = _mark(facts, contradicted=wrong)
    return ForgetEvidence(why, wrong) if facts.void_mark == mark else VoidOnNode(node, mark)


def weigh_new_boot(node: NodeFacts, before: str) -> NewBootUnproven | None:
    """Evidence E2 counts only from the machine that was recorded; None when it is that one.

    A clone, or a copy that a hypervisor started elsewhere, reports a new boot while the old one goes on.
    """
    same = node.hardware_id != "" and node.hardware_id == before
    return None if same else NewBootUnproven(node.name, before, node.hardware_id)


def after_new_boot(facts: LifeFacts, node: NodeFacts, before: str) -> Untaint | MarkReleased | Hold:
    """E2 where other evidence was recorded: that boot has ended, and the new one's kubelet ends the old pods.

    Its report raised the Node's version, so that no release write of ours which is still under way can land.
    """
    if OUR_TAINT in node.taints:
        return Untaint(node)
    unproven = weigh_new_boot(node, before)
    return Hold(unproven) if unproven else MarkReleased(contradicted=was_contradicted(facts))


def mark_for(facts: LifeFacts) -> str:
    """It names this version of this remediation: evidence recorded later is not voided by it."""
    return _mark(facts, contradicted=was_contradicted(facts))


def _mark(facts: LifeFacts, *, contradicted: bool) -> str:
    metadata = facts.remediation.metadata
    return f"{metadata.uid}.{metadata.resource_version}{_CONTRADICTED if contradicted else ''}"


def was_contradicted(facts: LifeFacts) -> bool:
    """A release of ours was broken off, because the boot that was vouched for was alive."""
    return is_marked(facts) and facts.void_mark.endswith(_CONTRADICTED)


def is_marked(facts: LifeFacts) -> bool:
    return facts.void_mark.startswith(f"{facts.remediation.metadata.uid}.")
