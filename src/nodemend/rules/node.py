"""Judges a node by its conditions and how long each has had its status, and words the findings.

A fast path lets callers that must check all nodes at once skip the nodes that no threshold can concern.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, Protocol, assert_never

from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import Threshold
from nodemend.api.quantities import duration_seconds


class ConditionOwner(StrEnum):
    """The object that has the condition."""

    NODE = "Node"
    MACHINE = "Machine"


@dataclass(frozen=True, slots=True)
class Match:
    """A threshold and the condition that meets it. `reason` is the condition's own."""

    type: str
    status: ConditionStatus
    age: float
    period: float
    of: ConditionOwner = ConditionOwner.NODE
    reason: str = ""

    @property
    def remaining(self) -> float:
        return max(0.0, self.period - self.age)


@dataclass(frozen=True, slots=True)
class NeverStarted:
    """The machine has not become a node; `age` counts from when it could have."""

    age: float
    period: float

    @property
    def remaining(self) -> float:
        return max(0.0, self.period - self.age)


@dataclass(frozen=True, slots=True)
class NodeGone:
    """The machine had a node, and its Node no longer exists."""

    remaining: ClassVar[float] = 0.0
    node: str


@dataclass(frozen=True, slots=True)
class AskedFor:
    """An annotation requests remediation of this target; it may have to be set for `period` first."""

    by: str
    age: float = 0.0
    period: float = 0.0

    @property
    def remaining(self) -> float:
        return max(0.0, self.period - self.age)


@dataclass(frozen=True, slots=True)
class PhaseFailed:
    """The machine's own controller has set its phase to Failed."""

    remaining: ClassVar[float] = 0.0
    why: str


Finding = Match | NeverStarted | NodeGone | AskedFor | PhaseFailed


def spell_finding(finding: Finding) -> str:
    """Return the text of a finding. It has no ages, so it does not change while the finding is the same."""
    match finding:
        case Match(type_, status, _, period, of, reason):
            whose = "" if of is ConditionOwner.NODE else f"{of} "
            because = f" ({reason})" if reason else ""
            return f"{whose}{type_}={status}{because}{_for(finding)} {period:.0f} s"
        case NeverStarted(_, period):
            return f"no node{_for(finding)} {period:.0f} s"
        case NodeGone(node):
            return f"its Node {node} is gone"
        case AskedFor(by):
            return f"asked for by {by}"
        case PhaseFailed(why):
            return f"its phase is Failed: {why}" if why else "its phase is Failed"
        case _:
            assert_never(finding)


def _for(finding: Match | NeverStarted) -> str:
    return ", but not yet for" if finding.remaining > 0 else " for"


_READY: Final = "Ready"


@dataclass(frozen=True, slots=True)
class ConditionSeen:
    """A node condition, and for how many seconds this process has observed this status."""

    type: str
    status: ConditionStatus
    seen_for: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Healthy:
    health: ClassVar[str] = "Healthy"
    ready_for: float | None
    """Seconds for which the node has been Ready with no threshold met, 0 if that is new; None if no Ready
    condition is True."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Unhealthy, but not yet for the threshold's duration."""

    health: ClassVar[str] = "Suspect"
    match: Finding


@dataclass(frozen=True, slots=True)
class Unhealthy:
    health: ClassVar[str] = "Unhealthy"
    match: Finding
    more: tuple[Finding, ...] = ()
    """Further findings about the node."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    health: ClassVar[str] = "Unjudged"
    why: str


NodeHealth = Healthy | Suspect | Unhealthy | Unjudged


def evaluate_health(thresholds: Sequence[Threshold], conditions: Iterable[ConditionSeen]) -> NodeHealth:
    """Return the most severe verdict of all thresholds; of several deadlines, the nearest."""
    seen = {condition.type: condition for condition in conditions}
    if not seen:
        return Unjudged("the node reports no conditions yet")
    matches = [match for threshold in thresholds if (match := _meet(threshold, seen))]
    if not matches:
        return Healthy(_ready_for(thresholds, seen))
    nearest = min(matches, key=lambda match: (match.remaining, match.type))
    return Unhealthy(nearest) if nearest.remaining == 0 else Suspect(nearest)


def types_that_matter(thresholds: Sequence[Threshold]) -> frozenset[str]:
    """Return the condition types that `evaluate_health` evaluates. Nodes report others too."""
    return frozenset((_READY, *(threshold.type for threshold in thresholds)))


def _meet(threshold: Threshold, seen: dict[str, ConditionSeen]) -> Match | None:
    condition = seen.get(threshold.type)
    if condition is None or condition.status is not threshold.status:
        return None
    return Match(threshold.type, threshold.status, condition.seen_for, duration_seconds(threshold.period))


def _ready_for(thresholds: Sequence[Threshold], seen: dict[str, ConditionSeen]) -> float | None:
    ready = seen.get(_READY)
    if ready is None or ready.status is not ConditionStatus.TRUE:
        return None
    watched = (seen[threshold.type].seen_for for threshold in thresholds if threshold.type in seen)
    return min((ready.seen_for, *watched))


class ShownCondition(Protocol):
    """A condition as a node reports it."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...


@dataclass(frozen=True, slots=True)
class FastPathCheck:
    """The condition types and statuses that thresholds compare, computed once."""

    types: frozenset[str]
    fine: frozenset[tuple[str, str]]
    """Type and status of every condition that meets no threshold."""

    def finds_well(self, shown: Collection[ShownCondition]) -> bool:
        """Return True if `evaluate_health` would find the node Healthy, regardless of ages.

        If False, call `evaluate_health`.
        """
        types, fine = self.types, self.fine
        return bool(shown) and not [
            one for one in shown if one.type in types and (one.type, one.status) not in fine
        ]


def fast_path_check(thresholds: Sequence[Threshold]) -> FastPathCheck:
    types = types_that_matter(thresholds)
    met = {(threshold.type, str(threshold.status)) for threshold in thresholds}
    # An unknown status is not fine: `evaluate_health` decides its meaning.
    fine = {(type_, str(status)) for type_ in types for status in ConditionStatus} - met
    return FastPathCheck(types, frozenset(fine))
