"""Whether a node that has reset itself again and again should stay out of service until somebody looks."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResetLimit:
    """So many within so many seconds."""

    most: int = 3
    window: float = 3600.0


@dataclass(frozen=True, slots=True)
class StaysGated:
    """It boots, and can be reached, but runs no workloads."""

    resets: int
    window: float


@dataclass(frozen=True, slots=True)
class MayStart:
    resets: int


def judge_resets(ages: Sequence[float | None], limit: ResetLimit) -> StaysGated | MayStart:
    """`ages`: seconds since each self-reset on record; None where the clock was set back since.

    A reset whose age nobody knows counts: a machine without a battery forgets the time at every boot.
    """
    recent = sum(age is None or age < limit.window for age in ages)
    return StaysGated(recent, limit.window) if recent >= limit.most else MayStart(recent)
