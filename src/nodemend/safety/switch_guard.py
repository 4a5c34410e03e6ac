"""Last check before a step that cannot be undone: a marker, a power-off request, recorded evidence.

Regardless of which client created the remediation, the remediator checks the guard once more here, on its own
view of the Nodes and on live reads of the policy and of the open remediations. It also checks the reason for
the remediation: the node's state, one of Nodemend's checks, a user's order or a drill.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api.meta import ConditionStatus
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard import ControlPlane, GuardFacts, check_quorum, guard
from nodemend.safety.guard_holds import (
    OVERRIDABLE,
    CoolingDown,
    NodeHealthy,
    NotReadyBriefly,
    RecentApiErrors,
    StartInterval,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
)
from nodemend.safety.holds import CannotRead, Hold, HoldReason

OBSERVED_FOR: Final = 20.0
"""Seconds for which the remediator itself must have observed a node as not Ready, unless one of Nodemend's
checks or a user requested the remediation: by then, nodes that fail together are counted."""

_BEGUN: Final = (TooManyAtOnce, StartInterval)
"""Guard reasons that are not checked again once a remediation has begun: other remediations count it, and
if they held it, two could wait for each other forever."""

_CONFIRMED: Final = (TooManyUnhealthy, TooFewUnhealthy, CoolingDown, RecentApiErrors)
"""Guard reasons that an operator confirmation overrides: doubts about whether nodes are unhealthy. The
machine stays off until its workloads are released, so a storm that counts it would never end."""


@dataclass(frozen=True, slots=True)
class TargetObservation:
    """The Node from a live read, and the remediator's own observations of it."""

    name: str
    ready: ConditionStatus
    not_ready_for: float
    """Seconds, by the remediator's own view; 0 if it has not observed the node as not Ready."""
    kubelet_silent: bool


@dataclass(frozen=True, slots=True)
class RemediationGrounds:
    """The reasons for the remediation, from its own metadata."""

    check_agrees: ReadResult[bool]
    """True if the check that it names, one of Nodemend's, finds the node unhealthy now; Absent if it names
    no check."""
    ordered: bool = False
    past_guard: bool = False
    drill: bool = False


@dataclass(frozen=True, slots=True)
class RemediatorGuardFacts:
    guard: GuardFacts
    control_plane: ReadResult[ControlPlane]
    """Absent if the node is not a member of the control plane."""
    target: TargetObservation | None
    """None if no Node exists: no part of it can be healthy."""
    grounds: RemediationGrounds


def may_begin(facts: ReadResult[RemediatorGuardFacts]) -> Hold | None:
    """Check before a remediation records that it begins."""
    return _ask(facts, ())


def may_go_on(facts: ReadResult[RemediatorGuardFacts]) -> Hold | None:
    """Check before the marker or the power-off request, after that record."""
    return _ask(facts, _BEGUN)


def may_release(facts: ReadResult[RemediatorGuardFacts]) -> Hold | None:
    """Check before a confirmation is recorded as evidence.

    The operator who confirmed is the reason for it.
    """
    match facts:
        case Present(switch):
            held = guard(switch.guard, _passing(switch.grounds, _CONFIRMED))
            return held if isinstance(held, Hold) else None
        case _:
            return _unread(facts)


def _ask(facts: ReadResult[RemediatorGuardFacts], passing: tuple[type[HoldReason], ...]) -> Hold | None:
    match facts:
        case Present(switch):
            if problem := check_grounds(switch.target, switch.grounds):
                return Hold(problem)
            held = guard(switch.guard, _passing(switch.grounds, passing))
            return held if isinstance(held, Hold) else check_quorum(switch.control_plane)
        case _:
            return _unread(facts)


def check_grounds(target: TargetObservation | None, grounds: RemediationGrounds) -> HoldReason | None:
    """Return why the node should not be remediated; None if there is a reason to remediate it."""
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
    return NodeHealthy(target.name)


def _passing(grounds: RemediationGrounds, more: tuple[type[HoldReason], ...]) -> tuple[type[HoldReason], ...]:
    return (*OVERRIDABLE, *more) if grounds.past_guard else more


def _unread(facts: Absent | Unreadable) -> Hold:
    why = facts.why if isinstance(facts, Unreadable) else "there is nothing"
    return Hold(CannotRead("what the guard asks about", why))
