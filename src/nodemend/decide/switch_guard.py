"""The last question before a step that cannot be undone: a marker, a power-off request, recorded evidence.

Whoever created the remediation, the remediator asks the storm guard once more here, on its own view of the
Nodes and on fresh reads of the policy and of what is open. It also asks why the node is remediated at all: by
its state, by a check of ours, by a person's order or as a drill.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_facts import ControlPlane, GuardFacts
from nodemend.decide.guard_holds import (
    ApiUnsettled,
    NodeWell,
    NotReadyBriefly,
    Pacing,
    Settling,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
)
from nodemend.decide.holds import CannotRead, Hold, HoldReason
from nodemend.decide.remediation_order import MEASURES
from nodemend.decide.storm_guard import guard, spare_quorum

OBSERVED_FOR: Final = 20.0
"""Seconds for which the remediator itself must have seen a node not Ready before it acts on the request of
anybody but our own check or a person: nodes that fall sick together are counted by then."""

_BEGUN: Final = (TooManyAtOnce, Pacing)
"""What a remediation that has begun is not asked again: the others count it, and if they held it up, two
could wait for one another for ever."""

_CONFIRMED: Final = (TooManyUnhealthy, TooFewUnhealthy, Settling, ApiUnsettled)
"""What a person's confirmation passes: doubts about whether nodes are sick. The machine stays off until its
workloads are released, so a storm that counts it would never end."""


@dataclass(frozen=True, slots=True)
class Target:
    """The Node as it was just read, and what the remediator has seen of it."""

    name: str
    ready: ConditionStatus
    not_ready_for: float
    """Seconds, by the remediator's own view; 0 when it has not seen it so."""
    kubelet_silent: bool


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why the node is remediated, by what stands on the remediation."""

    check_agrees: Seen[bool]
    """Whether the check of ours that it names finds the node unhealthy now; Absent where it names none."""
    ordered: bool = False
    past_guard: bool = False
    drill: bool = False


@dataclass(frozen=True, slots=True)
class SwitchFacts:
    guard: GuardFacts
    control_plane: Seen[ControlPlane]
    """Absent where the node is none of its members."""
    target: Target | None
    """None where there is no Node: nothing of it can be well."""
    grounds: Grounds


def may_begin(facts: Seen[SwitchFacts]) -> Hold | None:
    """Before a remediation says that it begins."""
    return _ask(facts, ())


def may_go_on(facts: Seen[SwitchFacts]) -> Hold | None:
    """Before the marker or the power-off request, once it has said so."""
    return _ask(facts, _BEGUN)


def may_release(facts: Seen[SwitchFacts]) -> Hold | None:
    """Before a person's confirmation is recorded as evidence. The person is the reason for it."""
    match facts:
        case Present(switch):
            held = guard(switch.guard, _passing(switch.grounds, _CONFIRMED))
            return held if isinstance(held, Hold) else None
        case _:
            return _unread(facts)


def _ask(facts: Seen[SwitchFacts], passing: tuple[type[HoldReason], ...]) -> Hold | None:
    match facts:
        case Present(switch):
            if doubt := doubt_grounds(switch.target, switch.grounds):
                return Hold(doubt)
            held = guard(switch.guard, _passing(switch.grounds, passing))
            return held if isinstance(held, Hold) else spare_quorum(switch.control_plane)
        case _:
            return _unread(facts)


def doubt_grounds(target: Target | None, grounds: Grounds) -> HoldReason | None:
    """Why the node should be left alone; None where there is a reason to remediate it."""
    if target is None or grounds.drill or grounds.check_agrees == Present(True):
        return None
    if target.ready is not ConditionStatus.TRUE:
        if grounds.ordered or target.kubelet_silent or target.not_ready_for >= OBSERVED_FOR:
            return None
        return NotReadyBriefly(target.not_ready_for, OBSERVED_FOR)
    if target.kubelet_silent:
        return None
    if isinstance(grounds.check_agrees, Unreadable):
        return CannotRead("the check that asked for it", grounds.check_agrees.why)
    return NodeWell(target.name)


def _passing(grounds: Grounds, more: tuple[type[HoldReason], ...]) -> tuple[type[HoldReason], ...]:
    return (*MEASURES, *more) if grounds.past_guard else more


def _unread(facts: Absent | Unreadable) -> Hold:
    why = facts.why if isinstance(facts, Unreadable) else "there is nothing"
    return Hold(CannotRead("what the guard asks about", why))
