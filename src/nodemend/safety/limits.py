"""Limits on the unhealthy count: a count or a percentage, compared exactly and never rounded.

A limit decides whether Nodemend may act at all, not on how many targets at once.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

_WRITTEN: Final = re.compile(r"([0-9]{1,9})(%?)")
_RANGE: Final = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})\]")


@dataclass(frozen=True, slots=True)
class Count:
    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Percent:
    value: int

    def __str__(self) -> str:
        return f"{self.value}%"


@dataclass(frozen=True, slots=True)
class Between:
    """Act only while at least `least` and at most `most` targets are unhealthy."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"[{self.least}-{self.most}]"


Limit = Count | Percent
LimitComparison = Limit | Between


class LimitSemantics(Enum):
    """Meaning of a limit that is exactly met."""

    AT_LIMIT = "stops at"
    """As the design defines it: at or above the limit, no further remediation starts."""
    ABOVE_LIMIT = "stops above"
    """As Cluster API, OpenShift and medik8s define it: a limit that is exactly met still allows
    remediation."""
    ALLOW_ONE = "spares one"
    """As Nodemend's own kinds define it: like STOPS_AT, but a percentage above zero allows one unhealthy
    target. Otherwise 50% in a group of two would mean that nothing is ever remediated."""


def parse_comparison(written: str | int) -> LimitComparison:
    """Parse a limit; raise ValueError if it is not a count, a percentage from 0% to 100% or a range."""
    if (spanned := _RANGE.fullmatch(str(written))) is not None:
        least, most = map(int, spanned.groups())
        if least <= most:
            return Between(least, most)
    elif (found := _WRITTEN.fullmatch(str(written))) is not None:
        value = int(found[1])
        if not found[2]:
            return Count(value)
        if value <= 100:
            return Percent(value)
    raise ValueError(f"{written!r} is no limit; write it like 2, 40% or [1-3]")


def closed(gate: LimitComparison, unhealthy: int, total: int, reading: LimitSemantics) -> bool:
    """Return whether this unhealthy count out of `total` forbids remediation."""
    match gate:
        case Percent(value) if value > 0 and unhealthy <= 1 and reading is LimitSemantics.ALLOW_ONE:
            return False
        case Between(least, most):
            return not least <= unhealthy <= most
        case Count(value):
            return _beyond(unhealthy, value, reading)
        case Percent(value):
            # Compare 100 u with p n, not u with p n / 100: integers have no rounding errors.
            return _beyond(100 * unhealthy, value * total, reading)


def max_allowed_unhealthy(gate: LimitComparison, total: int, reading: LimitSemantics) -> int:
    """Return the highest unhealthy count that the limit allows; negative if it never allows remediation."""
    match gate:
        case Between(_, most):
            return most
        case Count(value):
            return value if reading is LimitSemantics.ABOVE_LIMIT else value - 1
        case Percent(value):
            if reading is LimitSemantics.ABOVE_LIMIT:
                return value * total // 100
            below = -(-value * total // 100) - 1
            return max(below, 1) if value > 0 and reading is LimitSemantics.ALLOW_ONE else below


def closes_at(gate: LimitComparison, total: int, reading: LimitSemantics) -> int:
    """Return the lowest unhealthy count that is too many for the limit."""
    return max(0, max_allowed_unhealthy(gate, total, reading)) + 1


def can_never_act(gate: LimitComparison, total: int, reading: LimitSemantics) -> bool:
    """Return whether a single unhealthy target is already too many."""
    return total > 0 and max_allowed_unhealthy(gate, total, reading) < 1


def _beyond(amount: int, bar: int, reading: LimitSemantics) -> bool:
    return amount > bar if reading is LimitSemantics.ABOVE_LIMIT else amount >= bar
