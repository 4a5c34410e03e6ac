"""How many may be unhealthy before acting stops: a count or a share, compared exactly, never rounded.

A limit is a gate, not a budget: it says whether to act at all, not on how many at once.
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
    """Acting is wise only while at least `least` and at most `most` are unhealthy."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"[{self.least}-{self.most}]"


Limit = Count | Percent
Gate = Limit | Between


class Reading(Enum):
    """What a limit means when it is just met."""

    STOPS_AT = "stops at"
    """The design's own words: at or above the limit nothing more is remediated."""
    STOPS_ABOVE = "stops above"
    """As Cluster API, OpenShift and medik8s read it: meeting the limit is still allowed."""
    SPARES_ONE = "spares one"
    """As our own kinds read it: stops at, but a share above zero does not stop for one alone. In a group of
    two, half would else mean that nothing is ever healed."""


def parse_gate(written: str | int) -> Gate:
    """Raises ValueError for what is no count, no percentage from 0% to 100% and no range."""
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


def closed(gate: Gate, unhealthy: int, total: int, reading: Reading) -> bool:
    """Whether so many unhealthy of so many in all forbid to act."""
    match gate:
        case Percent(value) if value > 0 and unhealthy <= 1 and reading is Reading.SPARES_ONE:
            return False
        case Between(least, most):
            return not least <= unhealthy <= most
        case Count(value):
            return _beyond(unhealthy, value, reading)
        case Percent(value):
            # 100 u against p n instead of u against p n / 100: whole numbers have no rounding to argue about.
            return _beyond(100 * unhealthy, value * total, reading)


def room(gate: Gate, total: int, reading: Reading) -> int:
    """The most that may be unhealthy while the gate is open; below zero when it never is."""
    match gate:
        case Between(_, most):
            return most
        case Count(value):
            return value if reading is Reading.STOPS_ABOVE else value - 1
        case Percent(value):
            if reading is Reading.STOPS_ABOVE:
                return value * total // 100
            below = -(-value * total // 100) - 1
            return max(below, 1) if value > 0 and reading is Reading.SPARES_ONE else below


def closes_at(gate: Gate, total: int, reading: Reading) -> int:
    """The fewest unhealthy that close it for being too many."""
    return max(0, room(gate, total, reading)) + 1


def can_never_act(gate: Gate, total: int, reading: Reading) -> bool:
    """One unhealthy target alone would already be too many."""
    return total > 0 and room(gate, total, reading) < 1


def _beyond(amount: int, bar: int, reading: Reading) -> bool:
    return amount > bar if reading is Reading.STOPS_ABOVE else amount >= bar
