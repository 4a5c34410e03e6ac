"""The ends of a Metal3Remediation that is no longer wanted, or that did not help."""

from nodemend.api.power_cycle import Phase
from nodemend.decide.facts import Absent, NodeFacts, Present, Unreadable
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.host_holds import AwaitingOn, NobodyReplaces, OwnerReplacing
from nodemend.decide.host_power import Power
from nodemend.decide.power_cycle import Move, move_for
from nodemend.decide.power_cycle_attempts import fail_attempt, not_held_off
from nodemend.decide.power_cycle_facts import MachineFacts, PowerFacts, is_contradicted
from nodemend.decide.power_cycle_steps import AskOwner, GiveBack, GiveUp, MarkHost, Step
from nodemend.decide.remediation_life import OUR_TAINT, clear_out, drop_lock_then, is_marked, void
from nodemend.decide.remediation_steps import ClearVoidMark, Close, DropFinalizer, Untaint


def end(facts: PowerFacts) -> Step:
    """Deleted: leave nothing of ours behind, nothing half done, and nothing that could still land.

    What was begun to be released is released first: pods that are being removed by force must not find their
    node running again.
    """
    if (node := facts.target) and (undo := _undo(facts, node)):
        return undo
    if (held := facts.held) and move_for(facts.state(need=False)) is Move.GIVE_BACK:
        return GiveBack(held)
    still_off = _still_off(facts)
    if still_off and facts.in_phase_for < facts.power_on_within:
        return Hold(AwaitingOn(still_off, facts.power_on_within))
    return drop_lock_then(facts, DropFinalizer(still_off))


def _undo(facts: PowerFacts, node: NodeFacts) -> Step | None:
    """What has to happen to the Node before power comes back; None when there is nothing of ours on it."""
    status = facts.remediation.status
    if OUR_TAINT in node.taints and status.evidence is not None:
        ended = status.released or node.boot_id != status.evidence.boot_id
        return Untaint(node) if ended else clear_out(facts, node, contradicted=is_contradicted(facts, node))
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
