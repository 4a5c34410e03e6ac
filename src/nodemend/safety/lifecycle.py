"""Steps shared by all remediations that release workloads, each at most one write.

    AddFinalizer -> RecordEpoch -> RecordTarget -> TakeLock -> ... -> Release
      -> (until pods and volumes are gone) -> MarkReleased -> RemoveTaint -> ForgetTaint -> ... -> DropLock

Evidence that is no longer valid is revoked in this order: RevokeRelease, ForgetEvidence, ClearRevocation.
RevokeRelease raises the Node's resourceVersion, so a release write that is still in flight gets a conflict;
only then may ForgetEvidence remove the evidence. A remediation that ends revokes in the same way before it
leaves the node.

A leader accepts evidence that an earlier leader recorded only if its own process has watched since before
that leader's term. Otherwise etcd may have been restored in between, and the contents of a backup are no
evidence. The leader forgets all other evidence before it stamps the remediation with its own epoch.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from nodemend.api import well_known
from nodemend.api.evidence import Evidence
from nodemend.api.meta import ObjectMeta
from nodemend.safety.facts import Absent, NodeFacts, Present, ReadResult, Taint, Unreadable
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import (
    CannotRead,
    EvidencePredatesLeader,
    Hold,
    HoldReason,
    LeadershipLost,
    NewBootUnproven,
    TaintedByAnother,
    WorkloadsLeaving,
)
from nodemend.safety.release import ReleaseTicket


@dataclass(frozen=True, slots=True)
class RemainingWorkloads:
    """Workloads that a release still waits for."""

    pods: int
    attachments: int


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    step: ClassVar[str] = "AddFinalizer"


@dataclass(frozen=True, slots=True)
class RecordEpoch:
    """Write this leader's epoch, so that the API server refuses writes of all earlier leaders.

    If `forgets`, also delete what was gathered towards evidence in a term that this process did not watch.
    """

    step: ClassVar[str] = "RecordEpoch"
    forgets: bool = False


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """Record the node. `name` is the node's, if it differs from the remediation's."""

    step: ClassVar[str] = "RecordTarget"
    node_uid: str
    boot_id: str
    name: str = ""
    hardware_id: str = ""


@dataclass(frozen=True, slots=True)
class TakeLock:
    step: ClassVar[str] = "TakeLock"


@dataclass(frozen=True, slots=True)
class RecordEvidence:
    step: ClassVar[str] = "RecordEvidence"
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Release:
    step: ClassVar[str] = "Release"
    ticket: ReleaseTicket


@dataclass(frozen=True, slots=True)
class ReportRemaining:
    step: ClassVar[str] = "ReportRemaining"
    left: RemainingWorkloads


@dataclass(frozen=True, slots=True)
class MarkReleased:
    """Record that the workloads are released.

    `taint_stays` is another controller's out-of-service taint, which Nodemend must not remove; empty if there
    is no such taint. `contradicted` if the boot that had been certified as ended ran after the release had
    begun.
    """

    step: ClassVar[str] = "MarkReleased"
    taint_stays: str = ""
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class RemoveTaint:
    """Remove Nodemend's taint. `contradicted` if the boot that had been certified as ended is alive.

    `mark` revokes the evidence on the Node in the same write, as RevokeRelease does; empty if that is not
    needed.
    """

    step: ClassVar[str] = "RemoveTaint"
    node: NodeFacts
    contradicted: bool = False
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ForgetTaint:
    step: ClassVar[str] = "ForgetTaint"


@dataclass(frozen=True, slots=True)
class RevokeRelease:
    step: ClassVar[str] = "RevokeRelease"
    node: NodeFacts
    mark: str


@dataclass(frozen=True, slots=True)
class ForgetEvidence:
    """Forget the evidence. `why` is the reason; None if the remediation is ending and needs no evidence.

    `contradicted` if a release based on it had begun, and the boot that had been certified as ended was
    alive.
    """

    step: ClassVar[str] = "ForgetEvidence"
    why: HoldReason | None
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class ClearRevocation:
    """Remove the revocation from the Node: it takes effect when it is written, and is not needed later."""

    step: ClassVar[str] = "ClearRevocation"
    node: NodeFacts


@dataclass(frozen=True, slots=True)
class Close:
    step: ClassVar[str] = "Close"
    node_gone: bool


@dataclass(frozen=True, slots=True)
class DropLock:
    step: ClassVar[str] = "DropLock"


@dataclass(frozen=True, slots=True)
class DropFinalizer:
    """End the remediation.

    `still_off` names a host that is not back on; `lost` lists metadata of a deleted Node that no new Node
    received.
    """

    step: ClassVar[str] = "DropFinalizer"
    still_off: str = ""
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NothingLeft:
    step: ClassVar[str] = "Done"


_CONTRADICTED: Final = ".contradicted"
"""Suffix of the revocation on the Node if a release is aborted because its evidence was wrong."""
_DISPROVED: Final = ".disproved"
"""The same if no release had begun. The node's state that disproved the evidence may not last."""
OUR_TAINT: Final = Taint(well_known.OUT_OF_SERVICE, well_known.NO_EXECUTE, well_known.OUR_TAINT_VALUE)


@dataclass(frozen=True, slots=True)
class LockHolder:
    """Holder of the lock on the node. `orphaned` if the holder itself certainly no longer exists."""

    ours: bool
    holder: str
    orphaned: bool = False


@dataclass(frozen=True, slots=True)
class LeaderTerm:
    """One leader term, and what its process observed before it."""

    epoch: int
    remembers_from: int
    """Terms with a higher epoch began while this process watched."""
    remembers_since: float
    """Time at which this process began to watch, on its monotonic clock."""


class ReleaseStatus(Protocol):
    """Status fields that every such remediation has."""

    @property
    def epoch(self) -> int: ...
    @property
    def node_uid(self) -> str: ...
    @property
    def evidence(self) -> Evidence | None: ...
    @property
    def released(self) -> bool: ...
    @property
    def pods_left(self) -> int: ...
    @property
    def attachments_left(self) -> int: ...


class RemediationLike(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def status(self) -> ReleaseStatus: ...


class LifeFacts(Protocol):
    """Inputs of one pass, all from live (uncached) reads."""

    @property
    def remediation(self) -> RemediationLike: ...
    @property
    def epoch(self) -> int: ...
    @property
    def remembers_from(self) -> int: ...
    @property
    def node(self) -> ReadResult[NodeFacts]: ...
    @property
    def revocation(self) -> str: ...
    @property
    def lock(self) -> ReadResult[LockHolder]: ...
    @property
    def left(self) -> ReadResult[RemainingWorkloads]: ...


RevocationStep = RemoveTaint | RevokeRelease | ForgetEvidence | ClearRevocation
FirstStep = AddFinalizer | RevocationStep | RecordEpoch | NothingLeft | Hold


def begin(facts: LifeFacts) -> FirstStep | None:
    """Return the step that must precede all others, or None if it is done."""
    metadata, status = facts.remediation.metadata, facts.remediation.status
    if well_known.SAFE_END not in metadata.finalizers:
        return NothingLeft() if metadata.deleting else AddFinalizer()
    if status.epoch > facts.epoch:
        return Hold(LeadershipLost(facts.epoch, status.epoch))
    if status.epoch == facts.epoch:
        return None
    if status.epoch == 0 or status.epoch > facts.remembers_from:
        return RecordEpoch()
    return _disown(facts) or RecordEpoch(forgets=True)


def _disown(facts: LifeFacts) -> RevocationStep | Hold | None:
    """Revoke evidence that may date from before a restore of etcd, and a release that rests on it.

    A revocation is cleared before other evidence is recorded, because it would revoke that evidence as well.
    """
    status = facts.remediation.status
    if status.released:
        return None
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.evidence is None:
            return ClearRevocation(node) if has_revocation(facts) else None
        case _ if status.evidence is None:
            return None
        case Present(node) if node.uid == status.evidence.node_uid:
            if OUR_TAINT in node.taints:
                return RemoveTaint(node, mark=revocation_for(facts))
            return revoke(facts, node, EvidencePredatesLeader(status.epoch, facts.remembers_from))
        case Present() | Absent():
            # No release can use this evidence any longer.
            return None


def take_lock(facts: LifeFacts) -> TakeLock | Hold | None:
    """Return the step to take the lock on the node; None if this remediation holds it."""
    match facts.lock:
        case Unreadable(why):
            return Hold(CannotRead("the lock on the node", why))
        case Absent() | Present(LockHolder(orphaned=True)):
            return TakeLock()
        case Present(LockHolder(ours=False, holder=holder)):
            return Hold(OtherRemediation(holder))
        case Present():
            return None


def drop_lock_then(
    facts: LifeFacts, last: NothingLeft | DropFinalizer | Hold
) -> DropLock | NothingLeft | DropFinalizer | Hold:
    match facts.lock:
        case Unreadable(why):
            return Hold(CannotRead("the lock on the node", why))
        case Present(LockHolder(ours=True)):
            return DropLock()
        case Present() | Absent():
            return last


def taint_of_another(node: NodeFacts) -> Taint | None:
    """Return another controller's out-of-service taint that blocks Nodemend's, or None.

    Taints are unique by key and effect.
    """
    place = (OUR_TAINT.key, OUR_TAINT.effect)
    found = (taint for taint in node.taints if (taint.key, taint.effect) == place and taint != OUR_TAINT)
    return next(found, None)


def is_out_of_service(node: NodeFacts) -> bool:
    """True if Kubernetes force-removes the node's pods and volumes, regardless of which controller asked."""
    return OUR_TAINT in node.taints or taint_of_another(node) is not None


def await_eviction(
    facts: LifeFacts, node: NodeFacts, *, contradicted: bool, revoked_as: HoldReason
) -> RemoveTaint | MarkReleased | ReportRemaining | RevokeRelease | ForgetEvidence | Hold:
    """Wait until the workloads of the out-of-service node are gone, unless the evidence is contradicted.

    Nodemend must not remove another controller's taint. If that taint is set, only the evidence is revoked,
    with the reason `revoked_as`.
    """
    theirs = taint_of_another(node)
    if theirs is not None and (contradicted or has_revocation(facts)):
        return revoke(facts, node, revoked_as, contradicted=contradicted)
    if contradicted:
        return RemoveTaint(node, contradicted=True, mark=_mark(facts, contradicted=True))
    match facts.left:
        case Unreadable(why):
            return Hold(CannotRead("the node's pods and volumes", why))
        case Absent() | Present(RemainingWorkloads(pods=0, attachments=0)):
            return MarkReleased(taint_stays=str(theirs) if theirs else "")
        case Present(left):
            status = facts.remediation.status
            if (left.pods, left.attachments) != (status.pods_left, status.attachments_left):
                return ReportRemaining(left)
            if theirs is not None:
                return Hold(TaintedByAnother(node.name, str(theirs), left.pods, left.attachments))
            return Hold(WorkloadsLeaving(left.pods, left.attachments))


def revoke(
    facts: LifeFacts,
    node: NodeFacts,
    why: HoldReason | None,
    *,
    contradicted: bool = False,
    disproved: bool = False,
) -> RevokeRelease | ForgetEvidence:
    """Revoke the evidence on the Node, then forget it.

    `contradicted` and `disproved` are kept from the first revocation on, until the status reports them.
    """
    wrong = contradicted or was_contradicted(facts)
    mark = _mark(facts, contradicted=wrong, disproved=disproved or was_disproved(facts))
    return ForgetEvidence(why, wrong) if facts.revocation == mark else RevokeRelease(node, mark)


def evaluate_new_boot(node: NodeFacts, before: str) -> NewBootUnproven | None:
    """Return why a new boot is not evidence (E2); None if the recorded machine reports it.

    A clone, or a copy that a hypervisor started elsewhere, reports a new boot while the old one keeps
    running.
    """
    same = node.hardware_id != "" and node.hardware_id == before
    return None if same else NewBootUnproven(node.name, before, node.hardware_id)


def after_new_boot(facts: LifeFacts, node: NodeFacts, before: str) -> RemoveTaint | MarkReleased | Hold:
    """Return the step after a new boot (E2) when other evidence was recorded.

    The recorded boot has ended, and the new boot's kubelet ends the old pods. Its report raised the Node's
    resourceVersion, so no release write that is still in flight can land.
    """
    if OUR_TAINT in node.taints:
        return RemoveTaint(node)
    unproven = evaluate_new_boot(node, before)
    return Hold(unproven) if unproven else MarkReleased(contradicted=was_contradicted(facts))


def revocation_for(facts: LifeFacts) -> str:
    """Return the revocation for this version of this remediation.

    It does not revoke evidence recorded later.
    """
    return _mark(facts, contradicted=was_contradicted(facts), disproved=was_disproved(facts))


def _mark(facts: LifeFacts, *, contradicted: bool, disproved: bool = False) -> str:
    metadata = facts.remediation.metadata
    why = _CONTRADICTED if contradicted else _DISPROVED if disproved else ""
    return f"{metadata.uid}.{metadata.resource_version}{why}"


def was_contradicted(facts: LifeFacts) -> bool:
    """True if a release was aborted because the boot that had been certified as ended was alive."""
    return has_revocation(facts) and facts.revocation.endswith(_CONTRADICTED)


def was_disproved(facts: LifeFacts) -> bool:
    """True if the evidence was revoked because the boot that it certifies as ended was alive."""
    return has_revocation(facts) and facts.revocation.endswith(_DISPROVED)


def has_revocation(facts: LifeFacts) -> bool:
    return facts.revocation.startswith(f"{facts.remediation.metadata.uid}.")


def leave_node(
    facts: LifeFacts,
) -> RemoveTaint | RevokeRelease | ForgetEvidence | ClearRevocation | Hold | None:
    """Remove Nodemend's taint and revocation from the Node, and revoke writes that could still succeed.

    None if nothing is left to do.
    """
    status = facts.remediation.status
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.evidence is not None and node.uid == status.node_uid:
            if OUR_TAINT in node.taints:
                return RemoveTaint(node)
            if not status.released:
                return revoke(facts, node, None)
            return ClearRevocation(node) if has_revocation(facts) else None
        case Present(node) if has_revocation(facts):
            return ClearRevocation(node)
        case Present() | Absent():
            return None
