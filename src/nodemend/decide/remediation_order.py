"""A person's order to remediate one node now: whether it stands, and what it may pass.

An order replaces the waiting for a threshold and nothing else; the guard, the second look and the creation
are those of every other remediation. An order to pass the guard passes its questions of measure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nodemend.decide.guard_holds import Pacing, Settling, TooFewUnhealthy, TooManyAtOnce, TooManyUnhealthy
from nodemend.decide.holds import HoldReason
from nodemend.decide.node_health import Healthy, NodeHealth
from nodemend.decide.remediation_request import Open

GOOD_FOR: Final = 900.0
"""Seconds. After that whoever ordered it has looked away, and the cluster may be another."""

MEASURES: Final = (TooManyUnhealthy, TooFewUnhealthy, Settling, TooManyAtOnce, Pacing)
"""What an override passes: how much is unhealthy or under way, and how fast. Never what somebody said, what
we cannot see, the quorum of the control plane, or who else is at work."""


@dataclass(frozen=True, slots=True)
class Order:
    """As the API server has it. `age` is the larger of what its clock and our own say."""

    uid: str
    node_uid: str
    by: str
    reason: str
    past_guard: bool
    age: float


@dataclass(frozen=True, slots=True)
class Stands:
    """It counts now."""


@dataclass(frozen=True, slots=True)
class Used:
    """The remediation that it asked for is there."""


@dataclass(frozen=True, slots=True)
class Lapsed:
    """It ends unused. `why` completes a sentence that begins with whose order it was."""

    why: str


def weigh(order: Order, node_uid: str, health: NodeHealth, existing: Open | None) -> Stands | Used | Lapsed:
    """`existing` is the remediation that is there for the node, `health` what its check makes of it."""
    if existing is not None and existing.ours and not existing.ending:
        return Used() if existing.order == order.uid else Lapsed("the node is under remediation already")
    if order.node_uid != node_uid:
        return Lapsed("it is for another Node, which had this name before")
    if order.age > GOOD_FOR:
        return Lapsed(expired(order.age))
    if is_well(health):
        return Lapsed("the node is Ready and its check finds nothing wrong: a remediation would end at once")
    return Stands()


def is_well(health: NodeHealth) -> bool:
    """Ready, and no threshold is met. A remediation of such a node is withdrawn as soon as it is there."""
    return isinstance(health, Healthy) and health.ready_for is not None


def expired(age: float) -> str:
    return f"it is {age:.0f} s old, and is good for {GOOD_FOR:.0f} s"


def passes(reasons: Iterable[HoldReason]) -> tuple[tuple[HoldReason, ...], tuple[HoldReason, ...]]:
    """Of what holds: what an override passes, and what holds all the same."""
    found = tuple(reasons)
    passed = tuple(reason for reason in found if isinstance(reason, MEASURES))
    return passed, tuple(reason for reason in found if not isinstance(reason, MEASURES))
