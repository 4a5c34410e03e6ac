"""The life of one SelfRemediation: what its next step is, from fresh facts alone.

Every step is at most one write. A crash between any two leaves a state that this function already knows.

    AddFinalizer -> Stamp -> RecordTarget -> TakeLock -> BeginFencing -> PlaceMarker -> NoteMarker
      -> NoteProgress ... -> RecordProof (E4), or RecordEvidence (E2)
      -> Release -> (hold until pods and volumes are gone) -> MarkReleased
      -> Untaint -> ForgetTaint -> TakeMarkerOff -> (hold until Ready on a new boot) -> Close -> DropLock

The marker goes last: as long as it is on, the boot gate of a node that comes back stays closed.
"""

from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.api.self_remediation import Phase
from nodemend.decide.facts import Absent, NodeFacts, Present, Unreadable
from nodemend.decide.fencing_holds import NoNode, ProofContradicted
from nodemend.decide.holds import BootUnknown, CannotRead, Hold, NotBackYet
from nodemend.decide.node_left_behind import leave_node
from nodemend.decide.remediation_life import (
    OUR_TAINT,
    after_new_boot,
    begin,
    clear_out,
    drop_lock_then,
    is_marked,
    taint_of_another,
)
from nodemend.decide.remediation_steps import (
    ClearVoidMark,
    Close,
    Done,
    DropFinalizer,
    ForgetTaint,
    Release,
    Untaint,
)
from nodemend.decide.self_remediation_facts import SelfFacts
from nodemend.decide.self_remediation_fencing import begin_fencing, fence
from nodemend.decide.self_remediation_release import release, speaks
from nodemend.decide.self_remediation_steps import Step, TakeMarkerOff


def decide(facts: SelfFacts) -> Step:
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
        case Absent() if status.node_uid == "":
            return Hold(NoNode(facts.remediation.metadata.name))
        case Present() | Absent():
            return _take_marker_off(facts) or Close(node_gone=True)


def _pursue(facts: SelfFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if status.released:
        return _recover(facts, node)
    if status.evidence is not None:
        return _use(facts, node, status.evidence)
    if node.boot_id == "":
        return Hold(BootUnknown(node.name))
    return begin_fencing(facts, node) if status.phase is Phase.PENDING else fence(facts, node)


def _use(facts: SelfFacts, node: NodeFacts, evidence: Evidence) -> Step:
    if node.boot_id not in ("", evidence.boot_id):
        return after_new_boot(facts, node, facts.remediation.status.hardware_id)
    against = ProofContradicted(evidence.boot_id)
    if OUR_TAINT in node.taints:
        heard = isinstance(facts.lease, Present) and speaks(facts.lease.value, node, evidence)
        return clear_out(facts, node, contradicted=heard, void_as=against)
    step = release(facts, node, evidence)
    if isinstance(step, Release) and taint_of_another(node):
        return clear_out(facts, node, contradicted=False, void_as=against)
    return step


def _recover(facts: SelfFacts, node: NodeFacts) -> Step:
    status = facts.remediation.status
    if OUR_TAINT in node.taints:
        return Untaint(node)
    if status.tainted:
        return ForgetTaint()
    if is_marked(facts):
        return ClearVoidMark(node)
    if kept := _take_marker_off(facts):
        return kept
    if node.ready is not ConditionStatus.TRUE:
        return Hold(NotBackYet(node.name))
    if node.boot_id != status.boot_id:
        return Close(node_gone=False)
    by_time = status.evidence is not None and status.evidence.class_ == "E4"
    return Hold(ProofContradicted(status.boot_id) if by_time else NotBackYet(node.name))


def _end(facts: SelfFacts) -> Step:
    """Deleted: leave nothing of ours behind, nothing half done, and nothing that could still land.

    The Node comes before the marker: a release write that is still under way must not find a gate open.
    """
    return leave_node(facts) or _take_marker_off(facts) or drop_lock_then(facts, DropFinalizer())


def _take_marker_off(facts: SelfFacts) -> TakeMarkerOff | Hold | None:
    """None when no marker of ours is on the Lease. Before it began there can be none."""
    if facts.remediation.status.phase is Phase.PENDING:
        return None
    match facts.agent:
        case Unreadable(why):
            return Hold(CannotRead("the agent's Lease", why))
        case Present(agent) if facts.is_ours(agent):
            return TakeMarkerOff(agent)
        case Present() | Absent():
            return None
