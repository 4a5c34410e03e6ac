"""What a MachineHealthCheck asks for one machine: of its owner, of a template's controller, or of nobody."""

from dataclasses import dataclass, replace
from typing import assert_never

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import machine_marks, remediation_request
from nodemend.decide.annotated_machine import ByAnnotation, Clear, decide_annotated
from nodemend.decide.guard_holds import NobodyActs
from nodemend.decide.holds import Hold
from nodemend.decide.machine_marks import Mark, Marks
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_request import Create, Escalate, Leave, Open, Wishes, Withdraw
from nodemend.decide.storm_guard import Go


@dataclass(frozen=True, slots=True)
class ByOwner:
    """The machine's owner reads conditions, and replaces the machine."""


@dataclass(frozen=True, slots=True)
class ByDeletion:
    """Its owner makes a new one when it is gone, but reads no conditions; an admin lets us delete it."""


@dataclass(frozen=True, slots=True)
class ByTemplate:
    """A remediation made from the check's template; `existing` is the one that is there."""

    existing: Open | None
    healthy_delay: float


@dataclass(frozen=True, slots=True)
class ByNobody:
    """There is nobody to ask, and why."""

    why: str


Way = ByOwner | ByDeletion | ByTemplate | ByAnnotation | ByNobody


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the owner, by a condition."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the machine."""


Request = Ask | Delete | Create | Withdraw | Clear | Leave | Hold


def decide_machine(health: NodeHealth, way: Way, shown: Marks, guarded: Go | Hold) -> Request:
    """`guarded` is what the guard says of beginning with this machine now."""
    match way:
        case ByTemplate(existing, healthy_delay):
            return _by_template(health, existing, guarded, healthy_delay)
        case ByAnnotation():
            return decide_annotated(health, way, guarded)
        case ByOwner():
            return _without_template(health, Leave() if shown.asks_owner else Ask(), guarded)
        case ByDeletion():
            return _without_template(health, Delete(), guarded)
        case ByNobody(why):
            return _without_template(health, Hold(NobodyActs(why)), guarded)
        case _:
            assert_never(way)


def is_at_work(way: Way, shown: Marks) -> bool:
    """Whether somebody has been asked, and has not ended."""
    if isinstance(way, ByTemplate):
        return way.existing is not None and way.existing.ours
    if isinstance(way, ByAnnotation):
        return way.answer is not None
    return shown.asks_owner


def marks_for(health: NodeHealth, way: Way, shown: Marks, guarded: Go | Hold, request: Request) -> Marks:
    """All that should stand on the machine, given what is asked for it."""
    held = guarded if isinstance(guarded, Hold) else request if isinstance(request, Hold) else None
    told = replace(shown, checked=machine_marks.tell(health, held, shown.checked))
    match request:
        case Ask():
            return replace(told, owner=machine_marks.ask_owner(shown))
        case _ if isinstance(health, Healthy) or machine_marks.brakes(held) or isinstance(way, ByTemplate):
            told = replace(told, owner=machine_marks.spare_owner(shown))
        case _:
            pass
    return replace(told, external=_external(health, way, shown.external))


def _by_template(
    health: NodeHealth, existing: Open | None, guarded: Go | Hold, healthy_delay: float
) -> Create | Withdraw | Leave | Hold:
    request = remediation_request.decide(health, existing, guarded, Wishes((None,), healthy_delay))
    if isinstance(request, Escalate):
        raise TypeError("a MachineHealthCheck has one remedy: there is nowhere to climb")
    return request


def _without_template(health: NodeHealth, wish: Request, guarded: Go | Hold) -> Request:
    match health:
        case Unhealthy():
            return guarded if isinstance(guarded, Hold) and not isinstance(wish, Leave) else wish
        case Suspect(finding):
            return Leave(finding.remaining)
        case Healthy() | Unjudged():
            return Leave()
        case _:
            assert_never(health)


def without_template(health: NodeHealth, shown: Marks, why: str) -> Marks:
    """What should stand on a machine whose remediation cannot be made. It is unhealthy all the same."""
    told = replace(shown, checked=machine_marks.tell(health, None, shown.checked))
    if not _is_ours(shown.external):
        return told
    return replace(told, external=Mark(ConditionStatus.FALSE, machine_marks.NO_TEMPLATE, why))


def _external(health: NodeHealth, way: Way, shown: Mark | None) -> Mark | None:
    """ExternallyRemediated: who remediates may write there what it likes, and then it stays."""
    if not isinstance(way, ByTemplate) or not _is_ours(shown):
        return shown
    if way.existing is not None and way.existing.ours and isinstance(health, Unhealthy):
        return Mark(ConditionStatus.FALSE, machine_marks.WAITING)
    return None if isinstance(health, Healthy) and way.existing is None else shown


def _is_ours(external: Mark | None) -> bool:
    return external is None or external.reason in (machine_marks.WAITING, machine_marks.NO_TEMPLATE)
