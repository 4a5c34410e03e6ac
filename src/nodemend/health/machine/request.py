"""Decides how an unhealthy Machine is remediated: by its owner, a template, deletion, or not at all."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final, assert_never

from nodemend.api.meta import ConditionStatus
from nodemend.health.machine.annotation import ByAnnotation, Clear, decide_annotated
from nodemend.rules import machine
from nodemend.rules.machine import HealthCondition, HealthConditions
from nodemend.rules.node import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import (
    Create,
    DeleteRemediation,
    ExistingRemediation,
    NoAction,
    decide_one_remedy,
)
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Explanation, Hold, HoldReason


@dataclass(frozen=True, slots=True)
class NoRemedy(HoldReason):
    """The check has no template, and the target has no owner that would replace it."""

    reason: ClassVar[str] = "NoRemedy"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"No controller would act on it: {self.why}.",
            "Give its check a remediation template, or let machines be deleted in the RemediationPolicy.",
        )


@dataclass(frozen=True, slots=True)
class ByOwner:
    """The machine's owner reads conditions, and replaces the machine."""


@dataclass(frozen=True, slots=True)
class ByDeletion:
    """The owner replaces a deleted machine, but reads no conditions.

    An admin allows Nodemend to delete it.
    """


@dataclass(frozen=True, slots=True)
class ByTemplate:
    """A remediation made from the check's template; `existing` is the remediation that exists now."""

    existing: ExistingRemediation | None
    healthy_delay: float


@dataclass(frozen=True, slots=True)
class ByNobody:
    """No way to remediate the machine, with the reason."""

    why: str


RemediationPath = ByOwner | ByDeletion | ByTemplate | ByAnnotation | ByNobody


@dataclass(frozen=True, slots=True)
class AskOwnerByCondition:
    """Request action from the owner, with a condition."""

    request: ClassVar[str] = "AskOwner"


@dataclass(frozen=True, slots=True)
class Delete:
    request: ClassVar[str] = "Delete"


BY_OWNER: Final = "OwnerRemediation"
BY_DELETION: Final = "MachineDeletion"
"""The kinds of remediations that are no objects, in metrics and in the history."""

StartAction = AskOwnerByCondition | Create | Delete
MachineAction = StartAction | DeleteRemediation | Clear
Request = AskOwnerByCondition | Delete | Create | DeleteRemediation | Clear | NoAction | Hold


def decide_machine(
    health: NodeHealth, way: RemediationPath, shown: HealthConditions, guarded: Allowed | Hold
) -> Request:
    """Return the request. `guarded` is the guard's decision on starting with this machine now."""
    match way:
        case ByTemplate(existing, healthy_delay):
            return decide_one_remedy(health, existing, guarded, healthy_delay)
        case ByAnnotation():
            return decide_annotated(health, way, guarded)
        case ByOwner():
            return _without_template(
                health, NoAction() if shown.asks_owner else AskOwnerByCondition(), guarded
            )
        case ByDeletion():
            return _without_template(health, Delete(), guarded)
        case ByNobody(why):
            return _without_template(health, Hold(NoRemedy(why)), guarded)
        case _:
            assert_never(way)


def is_remediating(way: RemediationPath, shown: HealthConditions) -> bool:
    """Return whether a remediation of the machine was requested and has not ended."""
    if isinstance(way, ByTemplate):
        return way.existing is not None and way.existing.ours
    if isinstance(way, ByAnnotation):
        return way.answer is not None
    return shown.asks_owner


def health_conditions_for(
    health: NodeHealth,
    way: RemediationPath,
    shown: HealthConditions,
    guarded: Allowed | Hold,
    request: Request,
) -> HealthConditions:
    """Return the conditions that the machine should have, given the request."""
    held = guarded if isinstance(guarded, Hold) else request if isinstance(request, Hold) else None
    reported = replace(shown, checked=machine.health_condition(health, held, shown.checked))
    match request:
        case AskOwnerByCondition():
            return replace(reported, owner=machine.ask_owner(shown))
        case _ if isinstance(health, Healthy) or machine.brakes(held) or isinstance(way, ByTemplate):
            reported = replace(reported, owner=machine.spare_owner(shown))
        case _:
            pass
    return replace(reported, external=_external(health, way, shown.external))


def _without_template(health: NodeHealth, wish: Request, guarded: Allowed | Hold) -> Request:
    match health:
        case Unhealthy():
            return guarded if isinstance(guarded, Hold) and not isinstance(wish, NoAction) else wish
        case Suspect(finding):
            return NoAction(finding.remaining)
        case Healthy() | Unjudged():
            return NoAction()
        case _:
            assert_never(health)


def without_template(health: NodeHealth, shown: HealthConditions, why: str) -> HealthConditions:
    """Return the conditions for a machine whose remediation cannot be created.

    It is unhealthy all the same.
    """
    reported = replace(shown, checked=machine.health_condition(health, None, shown.checked))
    if not _is_ours(shown.external):
        return reported
    return replace(reported, external=HealthCondition(ConditionStatus.FALSE, machine.NO_TEMPLATE, why))


def _external(
    health: NodeHealth, way: RemediationPath, shown: HealthCondition | None
) -> HealthCondition | None:
    """Return ExternallyRemediated.

    The external remediator may write its own reason there, which then stays.
    """
    if not isinstance(way, ByTemplate) or not _is_ours(shown):
        return shown
    if way.existing is not None and way.existing.ours and isinstance(health, Unhealthy):
        return HealthCondition(ConditionStatus.FALSE, machine.WAITING)
    return None if isinstance(health, Healthy) and way.existing is None else shown


def _is_ours(external: HealthCondition | None) -> bool:
    return external is None or external.reason in (machine.WAITING, machine.NO_TEMPLATE)
