"""Release by deleting the Node: what comes before, what is waited for while there is none, what comes after.

    RecordEvidence -> BackUp -> DeleteNode -> (hold until the collector has taken the pods, and volumes are
      detached) -> MarkReleased -> ForgetTaint -> GiveBack -> (the kubelet registers) -> Restore
      -> ForgetBackup

Evidence that falls is voided on the Node, as for the taint: a deletion that is under way then meets another
version than it names. Once it has landed nothing takes it back. The hold stays until the pods are gone,
whatever speaks against the evidence by then.
"""

from nodemend.api.node_deletion import ReleaseBy
from nodemend.decide.facts import NodeFacts, Present, Unreadable
from nodemend.decide.fence_evidence import speaks_against
from nodemend.decide.holds import BootUnknown, CannotRead, Hold, HoldReason, WorkloadsLeaving
from nodemend.decide.host_holds import (
    HostGone,
    NodeDeletionOff,
    NodeDeletionRefused,
    SpokeAfterOff,
    SpokeAfterRelease,
    TooMuchOnNode,
)
from nodemend.decide.node_backup import MOST_BYTES, NOTHING, bytes_in, fits, lacks
from nodemend.decide.power_cycle_attempts import fail_attempt
from nodemend.decide.power_cycle_facts import PowerFacts
from nodemend.decide.power_cycle_steps import BackUp, DeleteNode, ForgetBackup, GiveUp, Restore
from nodemend.decide.release_gate import ReleaseTicket
from nodemend.decide.remediation_life import weigh_new_boot
from nodemend.decide.remediation_steps import ForgetTaint, Left, MarkReleased, Release, ReportLeft


def hindrance(facts: PowerFacts) -> HoldReason | None:
    """Why its Node could not be deleted when the time comes; asked before anything is switched off."""
    kept = facts.belongings
    if facts.remediation.spec.release_by is not ReleaseBy.NODE_DELETION or kept is None:
        return None
    if not facts.may_delete_nodes:
        return NodeDeletionOff()
    if not fits(kept):
        return TooMuchOnNode(bytes_in(kept), MOST_BYTES)
    return NodeDeletionRefused(facts.deletion_refused) if facts.deletion_refused else None


def use(facts: PowerFacts, ticket: ReleaseTicket) -> Release | ForgetBackup | BackUp | DeleteNode:
    """The write that the ticket is for, or what has to be written down before it."""
    kept, backup = facts.belongings, facts.remediation.status.backup
    if facts.remediation.spec.release_by is ReleaseBy.TAINT or kept is None:
        return Release(ticket)
    if backup == kept:
        return DeleteNode(ticket)
    # Written over another one it would be merged with it.
    return BackUp(kept) if backup is None else ForgetBackup()


def after_the_node(facts: PowerFacts) -> MarkReleased | ReportLeft | ForgetTaint | GiveUp | Hold:
    """There is no such Node: the collector has its pods. One that comes back by its name must find none."""
    status = facts.remediation.status
    match facts.node:
        case Present(node) if status.evidence is not None:
            return _another_came(facts, node, status.evidence.boot_id)
        case Present():
            return MarkReleased()
        case _:
            return _pods_leaving(facts) or _settle(facts)


def _pods_leaving(facts: PowerFacts) -> ReportLeft | Hold | None:
    """What a Node that is gone has left behind; None when that is nothing."""
    status = facts.remediation.status
    match facts.left:
        case Present(Left(pods, attachments) as left) if pods or attachments:
            if (pods, attachments) != (status.pods_left, status.attachments_left):
                return ReportLeft(left)
            return Hold(_broken(facts) or WorkloadsLeaving(pods, attachments))
        case Unreadable(why) if status.node_name:
            return Hold(CannotRead("the node's pods and volumes", why))
        case _:
            return None


def _settle(facts: PowerFacts) -> MarkReleased | ForgetTaint | GiveUp:
    broken = _broken(facts)
    return _contradicted(facts, broken) if isinstance(broken, SpokeAfterRelease) else MarkReleased()


def _another_came(
    facts: PowerFacts, node: NodeFacts, ended: str
) -> MarkReleased | ForgetTaint | GiveUp | Hold:
    """Only a kubelet registers a Node: its boot tells whether the one that had to end has ended."""
    if node.boot_id == ended:
        return _contradicted(facts, SpokeAfterRelease(_host(facts), f"boot {ended}, by a new Node"))
    why = (
        weigh_new_boot(node, facts.remediation.status.hardware_id) if node.boot_id else BootUnknown(node.name)
    )
    if why is None:
        # E2: its kubelet ends the old pods, and no collector takes them from a Node that is there.
        return MarkReleased()
    waiting = facts.in_phase_for < facts.power_off_within
    return Hold(why) if waiting else _contradicted(facts, why)


def _contradicted(facts: PowerFacts, why: HoldReason) -> ForgetTaint | GiveUp:
    """Nothing can be undone on a Node that is gone. Evidence may be forgotten only after what rests on it."""
    return ForgetTaint() if facts.remediation.status.tainted else fail_attempt(facts, why)


def _broken(facts: PowerFacts) -> HoldReason | None:
    """What speaks against the evidence that a Node was deleted on. Not knowing is not that."""
    recorded = facts.remediation.status.evidence
    if recorded is None:
        return None
    if not isinstance(facts.host, Present):
        return HostGone(_host(facts))
    found = speaks_against(facts.watched(facts.host.value), facts.lease, recorded)
    if isinstance(found, SpokeAfterOff):
        return SpokeAfterRelease(found.host, f"its Lease, renewed at {found.said}")
    return found


def _host(facts: PowerFacts) -> str:
    held = facts.remediation.status.host
    return str(held) if held else "its host"


def give_back_belongings(facts: PowerFacts) -> Restore | ForgetBackup | None:
    """As soon as there is a Node again, Ready or not: its taints keep away what does not belong there.

    None where there is nothing to be done about it now.
    """
    status = facts.remediation.status
    if status.backup is None or not isinstance(facts.node, Present) or facts.belongings is None:
        return None
    node = facts.node.value
    if node.uid == status.node_uid:
        never_deleted = status.released or status.evidence is None
        return ForgetBackup() if never_deleted else None
    if node.boot_id == "":
        return None
    missing = lacks(facts.belongings, status.backup)
    if missing == NOTHING or facts.restore_refused:
        return ForgetBackup(facts.restore_refused)
    return Restore(node, missing)


def awaits_a_node(facts: PowerFacts) -> bool:
    """What others wrote waits for a kubelet to register a Node."""
    status = facts.remediation.status
    same = isinstance(facts.node, Present) and facts.node.value.uid == status.node_uid
    return status.backup is not None and not same
