"""The step after the last remedy: when a node is well again, what was switched off for it is switched on.

A recovery is a ladder of one rung that begins when a node is healthy. That it is owed is written before the
remediation goes, and how it went before its own object goes: whoever leads then finds one of the two.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api.node_health_check import RecoveryPhase
from nodemend.decide.escalation import Stay, Trying, climb
from nodemend.decide.guard_holds import ControlPlaneBusy, QuorumAtRisk
from nodemend.decide.node_health import Healthy, NodeHealth
from nodemend.decide.remediation_order import MEASURES
from nodemend.decide.remediation_request import Create, Leave, Request, Withdraw

PASSES: Final = (*MEASURES, ControlPlaneBusy, QuorumAtRisk)
"""What does not hold a recovery up: it takes nothing away, and a storm ends the sooner for it. What people
said, what we cannot see and who else is at work holds it as it holds everything."""


@dataclass(frozen=True, slots=True)
class Recovering:
    """The object that recovers a node."""

    ending: bool
    succeeded: bool
    trying: Trying


@dataclass(frozen=True, slots=True)
class RecoveryFacts:
    """What is written of a node's recovery, and what is there of it."""

    written: RecoveryPhase | None
    there: Recovering | None
    timeout: float
    missing: float | None
    """For how long the node must still stay healthy; None while it is not."""
    remediating: bool = False
    """Whether a remediation of the node is there, be it on its way out."""


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing of it is to be written any more."""


@dataclass(frozen=True, slots=True)
class Owe:
    """First it must be written that a recovery is owed."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Create its object."""


@dataclass(frozen=True, slots=True)
class End:
    """Its object goes: it is done, or a remediation is to begin and nothing may be at work beside that."""


Step = Owe | Begin | End


def progress(
    written: RecoveryPhase | None, there: Recovering | None, timeout: float, *, owing: bool
) -> RecoveryPhase | Over:
    """What is to be written of it next. `owing`: something waits until it is written as owed.

    What has failed or is overdue stays so until it succeeds: an alarm does not end by itself.
    """
    if written is RecoveryPhase.SUCCEEDED:
        return Over() if there is None else written
    if owing:
        return RecoveryPhase.OWED
    if there is None:
        return written if written is RecoveryPhase.OWED else Over()
    if there.ending:
        return Over() if written is None else written
    if there.succeeded:
        return RecoveryPhase.SUCCEEDED
    if there.trying.failed:
        return RecoveryPhase.FAILED
    if written in (RecoveryPhase.FAILED, RecoveryPhase.OVERDUE):
        return written
    in_time = isinstance(climb((timeout,), there.trying), Stay)
    return RecoveryPhase.RUNNING if in_time else RecoveryPhase.OVERDUE


def decide_recovery(wanted: Request, facts: RecoveryFacts) -> Request | Step:
    """`wanted` is what the check asks for the node apart from this."""
    if facts.there is not None:
        return _beside(wanted, facts, facts.there)
    owed = facts.written is RecoveryPhase.OWED
    if facts.missing is None:
        return wanted
    if isinstance(wanted, Withdraw):
        return wanted if owed else Owe()
    if facts.remediating or not owed or wanted != Leave():
        return wanted
    return Begin() if facts.missing <= 0 else Leave(facts.missing)


def _beside(wanted: Request, facts: RecoveryFacts, there: Recovering) -> Request | Step:
    """A remediation never begins beside it. What it has begun ends at its own safe point: it goes when its
    controller lets it go, and is owed until the node is well again."""
    if there.ending:
        return Leave() if isinstance(wanted, Create) else wanted
    if facts.written is RecoveryPhase.SUCCEEDED:
        return End()
    if isinstance(wanted, Create):
        return End() if facts.written is RecoveryPhase.OWED else Owe()
    if wanted == Leave() and isinstance(stay := climb((facts.timeout,), there.trying), Stay):
        return Leave(stay.again_in)
    return wanted


def still_missing(health: NodeHealth, healthy_delay: float) -> float | None:
    if isinstance(health, Healthy) and health.ready_for is not None:
        return max(0.0, healthy_delay - health.ready_for)
    return None


def spell_phase(phase: RecoveryPhase, what: str, held: str = "") -> str:
    """`what` is its object, `held` why it does not begin."""
    by_hand = f"Switch on by hand what is still off, then delete the {what}."
    match phase:
        case RecoveryPhase.OWED:
            return held or "It begins when the remediation is gone and the node is well."
        case RecoveryPhase.RUNNING:
            return f"The {what} is under way."
        case RecoveryPhase.SUCCEEDED:
            return f"The {what} has succeeded, and goes."
        case RecoveryPhase.FAILED:
            return f"The {what} says that it has failed. {by_hand}"
        case RecoveryPhase.OVERDUE:
            return f"The {what} has not ended in its time. {by_hand}"
        case _:
            assert_never(phase)
