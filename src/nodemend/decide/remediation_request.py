"""What a health check asks for one target: create a remediation, withdraw it, or leave things as they are."""

from dataclasses import dataclass
from typing import Final

from nodemend.decide.escalation import Climb, Spent, Stay, Trying, climb
from nodemend.decide.guard_holds import OtherRemediation, RemediesExhausted, Unserved
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.storm_guard import Go

UNSERVED_AFTER: Final = 120.0
"""Seconds after which a remediation of a kind of ours that nobody took up is not served."""


@dataclass(frozen=True, slots=True)
class Open:
    """The remediation that exists for a target."""

    holder: str
    ours: bool
    ending: bool
    # Something was released, or may have been: only the remediator knows when it is over.
    committed: bool
    finished: bool
    trying: Trying
    # The UID of the person's order that it came from; empty where the check asked by itself.
    order: str = ""
    # Whoever serves its kind has not taken it up: nothing has begun.
    untouched: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    pass


@dataclass(frozen=True, slots=True)
class Withdraw:
    pass


@dataclass(frozen=True, slots=True)
class Leave:
    """Nothing to do; look again after `again_in` seconds, or when something changes."""

    again_in: float | None = None


@dataclass(frozen=True, slots=True)
class Escalate:
    """Withdraw this remedy, and go on with another when it is gone."""

    to: int


Request = Create | Withdraw | Escalate | Leave | Hold


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the check says about its remedies: for how long each is tried, and when a node has healed."""

    timeouts: tuple[float | None, ...]
    healthy_delay: float


def decide(
    health: NodeHealth, existing: Open | None, guarded: Go | Hold, wishes: Wishes, *, ordered: bool = False
) -> Request:
    """`ordered`: a person asks for it now, and their order stands."""
    if existing is None:
        return _without(health, guarded, ordered=ordered)
    if not existing.ours:
        return _without(health, Hold(OtherRemediation(existing.holder)), ordered=ordered)
    if existing.ending:
        return Leave()
    return _with(health, existing, wishes)


def decide_orphan(existing: Open) -> Withdraw | Leave:
    """No check answers for it any more: it goes, unless only its remediator knows when it is over."""
    if existing.ending or (existing.committed and not existing.finished):
        return Leave()
    return Withdraw()


def _without(health: NodeHealth, guarded: Go | Hold, *, ordered: bool) -> Request:
    if ordered:
        return guarded if isinstance(guarded, Hold) else Create()
    match health:
        case Unhealthy():
            return guarded if isinstance(guarded, Hold) else Create()
        case Suspect(match):
            return Leave(match.remaining)
        case Healthy() | Unjudged():
            return Leave()


def _with(health: NodeHealth, existing: Open, wishes: Wishes) -> Request:
    """Clean-up is never held: a closed guard stops new work only."""
    if existing.committed and not existing.finished:
        return Leave()
    match health:
        case Healthy(ready_for) if ready_for is not None:
            missing = wishes.healthy_delay - ready_for
            return Withdraw() if missing <= 0 else Leave(missing)
        case Unhealthy() if existing.finished:
            # It healed one boot; what fails now is the next, and wants a remediation of its own.
            return Withdraw()
        case Unhealthy():
            return _next_remedy(existing, wishes)
        case Healthy() | Unjudged():
            return Leave()
        case Suspect(match):
            return Leave(match.remaining)


def _await_service(existing: Open, again_in: float | None) -> Leave | Hold:
    """Nobody has taken it up. It stays: somebody may be about to, and another remedy has its own time."""
    missing = UNSERVED_AFTER - existing.trying.seconds
    if missing <= 0:
        return Hold(Unserved(existing.holder))
    return Leave(missing if again_in is None else min(missing, again_in))


def _next_remedy(existing: Open, wishes: Wishes) -> Request:
    match climb(wishes.timeouts, existing.trying):
        case Stay(again_in) if existing.untouched:
            return _await_service(existing, again_in)
        case Stay(again_in):
            return Leave(again_in)
        case Climb(to):
            return Escalate(to)
        case Spent():
            return Hold(RemediesExhausted(len(wishes.timeouts)))
