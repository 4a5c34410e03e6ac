"""Whether a node is healthy, by its conditions and for how long they have stood."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.node_health_check import Threshold
from nodemend.api.quantities import parse_duration
from nodemend.decide.findings import Finding, Match

_READY: Final = "Ready"


@dataclass(frozen=True, slots=True)
class ConditionSeen:
    """A node condition, and for how many seconds we ourselves have seen this status of it."""

    type: str
    status: ConditionStatus
    seen_for: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Healthy:
    ready_for: float | None
    """Seconds for which it has been Ready and no threshold was met, 0 when that is new; None when no Ready
    condition says so."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Unhealthy, but not yet for long enough."""

    match: Finding


@dataclass(frozen=True, slots=True)
class Unhealthy:
    match: Finding
    more: tuple[Finding, ...] = ()
    """What else is wrong with it."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    why: str


NodeHealth = Healthy | Suspect | Unhealthy | Unjudged


def judge(thresholds: Sequence[Threshold], conditions: Iterable[ConditionSeen]) -> NodeHealth:
    """The gravest verdict that any threshold gives; of several deadlines, the nearest."""
    seen = {condition.type: condition for condition in conditions}
    if not seen:
        return Unjudged("the node reports no conditions yet")
    matches = [match for threshold in thresholds if (match := _meet(threshold, seen))]
    if not matches:
        return Healthy(_ready_for(thresholds, seen))
    nearest = min(matches, key=lambda match: (match.remaining, match.type))
    return Unhealthy(nearest) if nearest.remaining == 0 else Suspect(nearest)


def types_that_matter(thresholds: Sequence[Threshold]) -> frozenset[str]:
    """The conditions by which `judge` judges. Nodes show others too."""
    return frozenset((_READY, *(threshold.type for threshold in thresholds)))


def _meet(threshold: Threshold, seen: dict[str, ConditionSeen]) -> Match | None:
    condition = seen.get(threshold.type)
    if condition is None or condition.status is not threshold.status:
        return None
    return Match(
        threshold.type, threshold.status, condition.seen_for, parse_duration(threshold.period).total_seconds()
    )


def _ready_for(thresholds: Sequence[Threshold], seen: dict[str, ConditionSeen]) -> float | None:
    ready = seen.get(_READY)
    if ready is None or ready.status is not ConditionStatus.TRUE:
        return None
    watched = (seen[threshold.type].seen_for for threshold in thresholds if threshold.type in seen)
    return min((ready.seen_for, *watched))
