"""The conditions that a MachineHealthCheck puts on a Machine, for its owner and for people.

The owner of a machine replaces it when the check failed *and* the owner is asked to act. So failing is always
told, and asking is the action: it waits for the guard, and is taken back while the owner has not begun.
"""

from dataclasses import dataclass, field
from typing import Final, assert_never

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import guard_holds, holds
from nodemend.decide.findings import (
    AskedFor,
    Finding,
    Match,
    NeverStarted,
    NodeGone,
    PhaseFailed,
    Subject,
    spell_finding,
)
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged

WAITING: Final = "WaitingForRemediation"
PASSED: Final = "HealthCheckSucceeded"
NO_TEMPLATE: Final = "RemediationTemplateNotFound"

NOT_BEGUN: Final = frozenset({WAITING, "RemediationDeferred"})
"""With these reasons the owner has been asked, and has not begun."""

SILENT: Final = (
    guard_holds.DryRun,
    guard_holds.CheckDryRun,
    guard_holds.Paused,
    guard_holds.Excluded,
    guard_holds.ApiUnsettled,
    holds.ViewStale,
    holds.CannotRead,
)
"""Holds under which a verdict is not even written down: nobody wants it, or nobody can vouch for it."""

UNSURE: Final = (guard_holds.ApiUnsettled, holds.ViewStale, holds.CannotRead)
"""Of these, the ones that pass by themselves."""

BRAKES: Final = (
    guard_holds.DryRun,
    guard_holds.CheckDryRun,
    guard_holds.Paused,
    guard_holds.Excluded,
    guard_holds.InMaintenance,
    guard_holds.TooManyUnhealthy,
    guard_holds.TooFewUnhealthy,
    guard_holds.QuorumAtRisk,
)
"""Holds that take back a wish which nobody has begun to fulfil. The others only let nothing new begin."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Another `message` alone, such as another condition with the same reason, is no news."""

    status: ConditionStatus
    reason: str
    message: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Marks:
    """HealthCheckSucceeded, OwnerRemediated and ExternallyRemediated; None where there is none."""

    checked: Mark | None = None
    owner: Mark | None = None
    external: Mark | None = None

    @property
    def asks_owner(self) -> bool:
        return self.owner is not None and self.owner.status is ConditionStatus.FALSE

    @property
    def not_begun(self) -> bool:
        """The owner is asked, and has not begun."""
        return self.asks_owner and self.owner is not None and self.owner.reason in NOT_BEGUN


def tell(health: NodeHealth, held: Hold | None, shown: Mark | None) -> Mark | None:
    """HealthCheckSucceeded. Whoever is suspect or cannot be judged keeps what was said last."""
    if held is not None and isinstance(held.reason, SILENT):
        return shown
    match health:
        case Healthy():
            return Mark(ConditionStatus.TRUE, PASSED)
        case Unhealthy(finding, more):
            said = "; ".join(spell_finding(one) for one in (finding, *more))
            return Mark(ConditionStatus.FALSE, reason_of(finding), f"Unhealthy: {said}.")
        case Suspect() | Unjudged():
            return shown
        case _:
            assert_never(health)


def ask_owner(shown: Marks) -> Mark | None:
    """OwnerRemediated, asking. What an owner wrote about work it has begun is left alone."""
    if shown.asks_owner:
        return shown.owner
    return Mark(ConditionStatus.FALSE, WAITING)


def spare_owner(shown: Marks) -> Mark | None:
    """OwnerRemediated, no longer asking, unless the owner has begun."""
    return None if shown.not_begun else shown.owner


def brakes(held: Hold | None) -> bool:
    return held is not None and isinstance(held.reason, BRAKES)


def reason_of(finding: Finding) -> str:
    """One word, as Cluster API's own tools know it."""
    match finding:
        case Match(of=Subject.NODE):
            return "UnhealthyNode"
        case Match():
            return "UnhealthyMachine"
        case NeverStarted():
            return "NodeStartupTimeout"
        case NodeGone():
            return "NodeDeleted"
        case AskedFor():
            return "HasRemediateAnnotation"
        case PhaseFailed():
            return "MachineFailed"
        case _:
            assert_never(finding)
