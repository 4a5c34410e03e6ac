"""How an attempt ends, well or not, and when the next one begins."""

from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.power_cycle import Strategy
from nodemend.decide.facts import NodeFacts, Present
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.host_holds import (
    AwaitingOff,
    AwaitingOn,
    BackingOff,
    BootOutlived,
    HoldLost,
    HostDoubtful,
    HostGone,
    HostOn,
    NeverSeenOff,
    NeverSeenOn,
    SpokeAfterOff,
    SpokeAfterRelease,
)
from nodemend.decide.host_power import HostFacts, NotManaged, doubt
from nodemend.decide.power_cycle import Move, move_for
from nodemend.decide.power_cycle_facts import PowerFacts
from nodemend.decide.power_cycle_steps import BeginAgain, GiveBack, GiveUp, HandOver, Step
from nodemend.decide.remediation_life import OUR_TAINT, is_marked
from nodemend.decide.remediation_steps import ClearVoidMark, Close, ForgetTaint, Untaint

FIRST_PAUSE: Final = 30.0
LONGEST_PAUSE: Final = 1800.0


def pause_after(failed: int) -> float:
    """Seconds between attempts: twice as long after each that failed."""
    doubled: float = FIRST_PAUSE * (1 << min(max(failed - 1, 0), 16))
    return min(doubled, LONGEST_PAUSE)


def is_spent(facts: PowerFacts) -> bool:
    """All power cycles that were allowed have been tried: the machine shall be replaced."""
    spec = facts.remediation.spec
    tried = facts.remediation.status.retry_count
    return spec.strategy is Strategy.ESCALATE and tried > spec.delete_after_retries


def fail_attempt(facts: PowerFacts, why: HoldReason) -> GiveUp:
    """A host that could not be switched off is never handed over: its node may still run.

    One that is gone, and one that is not the node's own, is not tried again.
    """
    spec, status = facts.remediation.spec, facts.remediation.status
    last = spec.strategy is Strategy.ESCALATE and status.retry_count >= spec.delete_after_retries
    hopeless = isinstance(why, HostGone | SpokeAfterOff | SpokeAfterRelease)
    return GiveUp(_in_the_end(why), for_good=hopeless or (last and not status.released))


def _in_the_end(why: HoldReason) -> HoldReason:
    """What was waited for did not come: that is said otherwise than that it is waited for."""
    match why:
        case AwaitingOff(host, limit):
            return NeverSeenOff(host, limit)
        case AwaitingOn(host, limit):
            return NeverSeenOn(host, limit)
        case _:
            return why


def bring_back(facts: PowerFacts) -> Step:
    """What it ran is released: nothing of ours stays on the node, and power comes back."""
    status, node = facts.remediation.status, facts.target
    if node is not None and OUR_TAINT in node.taints:
        return Untaint(node)
    if status.tainted:
        return ForgetTaint()
    if node is not None and is_marked(facts):
        return ClearVoidMark(node)
    if facts.is_back:
        return close(facts)
    if is_spent(facts):
        return HandOver() if facts.is_held_off else fail_attempt(facts, not_held_off(facts))
    if not isinstance(facts.host, Present):
        return fail_attempt(facts, not_held_off(facts))
    return _power_on(facts, facts.host.value)


def not_held_off(facts: PowerFacts) -> HoldReason:
    """Why a host that should be held off may run."""
    match facts.host:
        case Present(HostFacts(held_by_us=False) as host):
            return HoldLost(str(host))
        case Present(host):
            why = doubt(host)
            return HostDoubtful(str(host), why) if why else HostOn(str(host))
        case _:
            held = facts.remediation.status.host
            return HostGone(str(held) if held else "it had")


def _power_on(facts: PowerFacts, host: HostFacts) -> Step:
    match move_for(facts.state(need=True)):
        case Move.GIVE_BACK:
            return GiveBack(host)
        case Move.AWAIT_NODE:
            return _await(facts, _not_back(facts, host))
        case Move.AWAIT_ON:
            return _await(facts, AwaitingOn(str(host), facts.power_on_within))
        case Move.AWAIT_SIGHT:
            return _await(facts, HostDoubtful(str(host), doubt(host) or NotManaged(host.state)))
        case move:
            raise AssertionError(f"{move} is no move for a host that was off already")


def _not_back(facts: PowerFacts, host: HostFacts) -> HoldReason:
    """A kubelet whose Node was deleted registers anew, and is the same boot all the same."""
    status = facts.remediation.status
    match facts.node:
        case Present(NodeFacts(ready=ConditionStatus.TRUE, boot_id=boot)) if boot and boot == status.boot_id:
            return BootOutlived(str(host), boot)
        case _:
            return facts.not_back


def _await(facts: PowerFacts, why: HoldReason) -> GiveUp | Hold:
    return Hold(why) if facts.in_phase_for < facts.power_on_within else fail_attempt(facts, why)


def back_off(facts: PowerFacts) -> Step:
    """Nobody wants it off now: the hold goes, and after a pause it is tried again."""
    if facts.is_back:
        return close(facts)
    if (held := facts.held) and move_for(facts.state(need=False)) is Move.GIVE_BACK:
        return GiveBack(held)
    failed = facts.remediation.status.retry_count
    remaining = pause_after(failed) - facts.in_phase_for
    return Hold(BackingOff(remaining, failed)) if remaining > 0 else BeginAgain()


def close(facts: PowerFacts) -> GiveBack | Close:
    """The node is back: it has succeeded as soon as nothing of ours is on the host."""
    held = facts.held
    return GiveBack(held) if held else Close(node_gone=False)
