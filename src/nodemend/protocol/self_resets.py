"""Limit of repeated self-resets: a node that exceeds it stays out of service until an admin intervenes."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResetLimit:
    """At most `most` resets within `window` seconds."""

    most: int = 3
    window: float = 3600.0


@dataclass(frozen=True, slots=True)
class StaysGated:
    """The node boots, and is reachable, but runs no workloads."""

    resets: int
    window: float


@dataclass(frozen=True, slots=True)
class MayStart:
    resets: int


def evaluate_resets(ages: Sequence[float | None], limit: ResetLimit) -> StaysGated | MayStart:
    """Return whether the node may start its workloads.

    `ages`: seconds since each recorded self-reset; None if the clock was set back since. A reset of unknown
    age counts: a machine without a clock battery loses the time at every boot.
    """
    recent = sum(age is None or age < limit.window for age in ages)
    return StaysGated(recent, limit.window) if recent >= limit.most else MayStart(recent)
