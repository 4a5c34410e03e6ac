"""The ends of a Metal3Remediation that is no longer wanted, or that did not help."""

from typing import Final

from nodemend.api.node_deletion import ReleaseBy
from nodemend.api.power_cycle import Phase
from nodemend.decide.facts import Absent, NodeFacts, Present, Unreadable
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.host_holds import AwaitingOn, CalledOff, NobodyReplaces, OffUndated, OwnerReplacing
from nodemend.decide.host_power import Power
from nodemend.decide.node_deletion import after_the_node, awaits_a_node
from nodemend.decide.power_cycle import Move, move_for
from nodemend.decide.power_cycle_attempts import fail_attempt, not_held_off
from nodemend.decide.power_cycle_facts import MachineFacts, PowerFacts, is_contradicted
from nodemend.decide.power_cycle_steps import (
    AskOwner,
    ClearVoidedHold,
    GiveBack,
    GiveUp,
    MarkHost,
    Step,
    VoidHold,
)
from nodemend.decide.remediation_life import (
    OUR_TAINT,
    clear_out,
    drop_lock_then,
    is_marked,
    taint_of_another,
    void,
)
from nodemend.decide.remediation_steps import (
    ClearVoidMark,
    Close,
    DropFinalizer,
    ForgetTaint,
    Untaint,
)

NODE_AWAITED: Final = 86_400.0
"""Seconds for which a remediation that is over waits for a Node that it deleted, and for nothing else."""


def end(facts: PowerFacts) -> Step:
    """Deleted: leave nothing of ours behind, nothing half done, and nothing that could still land.

    What was begun to be released is released first: pods that are being removed by force must not find their
    node running again.
    """
    if first := _settle(facts):
        return first
    if (held := facts.held) and move_for(facts.state(need=False)) is Move.GIVE_BACK:
        return GiveBack(held)
    if late := _void_late_hold(facts):
        return late
    still_off = _still_off(facts)
    if still_off and facts.in_phase_for < facts.power_on_within:
        return Hold(AwaitingOn(still_off, facts.power_on_within))
    return drop_lock_then(facts, _last(facts, still_off))


def _void_late_hold(facts: PowerFacts) -> VoidHold | ClearVoidedHold | None:
    """A hold that was sent, and of which nothing was heard, must not switch a host off for nobody.

    It can land on the one version that it was decided on, for as long as the host has that.
    """
    match facts.host:
        case Present(host) if host.voided_by_us:
            return ClearVoidedHold(host)
        case Present(host) if host.version == facts.remediation.status.seen_on_version:
            return VoidHold(host)
        case _:
            return None


def call_off(facts: PowerFacts) -> Step:
    """Whoever asked allows it no more time: it stops as at the end, but stays and says so."""
    if first := _settle(facts):
        return first
    # Evidence is not forgotten while the taint may be on the node.
    return ForgetTaint() if facts.remediation.status.tainted else GiveUp(CalledOff(), for_good=True)


def _settle(facts: PowerFacts) -> Step | None:
    """What has to happen before power comes back."""
    if (node := facts.target) and (undo := _undo(facts, node)):
        return undo
    if _is_leaving(facts):
        return after_the_node(facts)
    return None


def _last(facts: PowerFacts, still_off: str) -> DropFinalizer | Hold:
    """A Node that was deleted gets back what it had, if it comes; no other object remembers that."""
    status = facts.remediation.status
    if status.backup is None or not awaits_a_node(facts):
        return DropFinalizer(still_off)
    if facts.in_phase_for < NODE_AWAITED and not _machine_goes(facts):
        return Hold(facts.not_back)
    return DropFinalizer(still_off, lost=status.backup.parts)


def _machine_goes(facts: PowerFacts) -> bool:
    """With its Machine its Node is gone for good."""
    had_one = any(owner.kind == "Machine" for owner in facts.remediation.metadata.owner_references)
    match facts.machine:
        case Present(machine):
            return machine.deleting
        case Absent():
            return had_one
        case Unreadable():
            return False


def _is_leaving(facts: PowerFacts) -> bool:
    """The Node is gone after evidence was recorded, perhaps by us: its pods are being removed by force."""
    status = facts.remediation.status
    return facts.target is None and status.evidence is not None and not status.released


def leaves_by_taint(facts: PowerFacts, node: NodeFacts) -> bool:
    """Whether its workloads leave by an out-of-service taint, ours or another's.

    Where the Node is to be deleted, another's taint may do nothing: such clusters are older than its meaning.
    """
    theirs = taint_of_another(node) is not None and facts.remediation.spec.release_by is ReleaseBy.TAINT
    return OUR_TAINT in node.taints or theirs


def let_leave(facts: PowerFacts, node: NodeFacts) -> Step:
    """It is out of service. Where the evidence turns out to be wrong our taint comes off, and that is void.

    At the next look all may seem well again, such as when a host is no longer paused.
    """
    against = OffUndated(str(facts.remediation.status.host))
    return clear_out(facts, node, contradicted=is_contradicted(facts, node), void_as=against)


def _undo(facts: PowerFacts, node: NodeFacts) -> Step | None:
    """What has to happen to the Node before power comes back; None when there is nothing of ours on it."""
    status = facts.remediation.status
    if status.evidence is not None and leaves_by_taint(facts, node):
        if not status.released and node.boot_id == status.evidence.boot_id:
            return let_leave(facts, node)
        if OUR_TAINT in node.taints:
            return Untaint(node)
    if status.evidence is not None and not status.released and node.boot_id == status.evidence.boot_id:
        return void(facts, node, None)
    return ClearVoidMark(node) if is_marked(facts) else None


def _still_off(facts: PowerFacts) -> str:
    """The host, if we may have held it off, in this attempt or an earlier one, and it is not seen on."""
    status = facts.remediation.status
    touched = status.phase is not Phase.PENDING or status.retry_count > 0
    match facts.host:
        case Present(host) if touched and facts.power is not Power.ON:
            return str(host)
        case _:
            return ""


def hand_over(facts: PowerFacts) -> Step:
    """The host is off, and nothing runs on it: only now may its machine be replaced."""
    match facts.machine:
        case Unreadable(why):
            return Hold(CannotRead("the Machine", why))
        case Absent() if isinstance(facts.host, Present) and facts.host.value.marked_unhealthy:
            held = facts.held
            return GiveBack(held) if held else Close(node_gone=True)
        case Absent():
            return GiveUp(NobodyReplaces("it has no Machine"), for_good=True)
        case Present(MachineFacts(deleting=True) as machine):
            return Hold(OwnerReplacing(machine.name))
        case Present() if not facts.is_held_off:
            return fail_attempt(facts, not_held_off(facts))
        case Present(MachineFacts(why_not=why)) if why:
            return GiveUp(NobodyReplaces(why), for_good=True)
        case Present(machine):
            if isinstance(facts.host, Present) and not facts.host.value.marked_unhealthy:
                return MarkHost(facts.host.value)
            return Hold(OwnerReplacing(machine.name)) if machine.asked else AskOwner()
