"""What is to happen, as it is written on the command line: `WHICH[:HOWMANY]@WHEN`.

WHICH is a node's name, a pattern of names (`edge-*`) or labels (`zone=a`, `zone=a,tier=gpu`). HOWMANY is a
count or a share. WHEN is a time after the beginning, or two of them (`2m..10m`) for one node after the other.
"""

import re
from dataclasses import dataclass
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.quantities import parse_duration
from nodemend.decide.limits import Between, Limit, parse_gate

FORM: Final = "write it like edge-07@2m, edge-*:3@2m..10m or zone=a:40%@5m"
_NAMES: Final = re.compile(r"[a-z0-9.\-*?\[\]]+")
_LABEL: Final = re.compile(r"([A-Za-z0-9._\-/]+)=([A-Za-z0-9._\-*?\[\]]*)")
_CONDITION: Final = re.compile(r"([A-Za-z0-9._\-/]+)=(True|False|Unknown)")


@dataclass(frozen=True, slots=True)
class ByName:
    """A name, or a pattern of names."""

    pattern: str


@dataclass(frozen=True, slots=True)
class ByLabels:
    """All of them; a value may be a pattern."""

    wanted: tuple[tuple[str, str], ...]


Which = ByName | ByLabels


@dataclass(frozen=True, slots=True)
class Choice:
    """WHICH[:HOWMANY]. Without HOWMANY it is all of them."""

    written: str
    which: Which
    how_many: Limit | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """In whole seconds after the beginning. All at once when both are the same."""

    begins: int
    ends: int


@dataclass(frozen=True, slots=True)
class Invention:
    """Something that happens to some nodes."""

    choice: Choice
    when: Span


@dataclass(frozen=True, slots=True)
class Symptom:
    """The condition that a failing node shows."""

    type: str
    status: ConditionStatus

    def __str__(self) -> str:
        return f"{self.type}={self.status}"


SILENT: Final = Symptom("Ready", ConditionStatus.UNKNOWN)
"""What a node shows that is cut off or dead."""


def parse_invention(written: str) -> Invention:
    """Raises ValueError with a sentence for whoever wrote it."""
    chosen, at, when = written.rpartition("@")
    if not at:
        raise ValueError(f"{written!r} does not say when; {FORM}")
    return Invention(parse_choice(chosen), _span(when))


def parse_choice(written: str) -> Choice:
    """Raises ValueError likewise."""
    which, colon, how_many = written.partition(":")
    return Choice(written, _which(which), _how_many(how_many) if colon else None)


def parse_symptom(written: str) -> Symptom:
    found = _CONDITION.fullmatch(written)
    if found is None:
        raise ValueError(f"{written!r} is no condition; write it like Ready=Unknown or KernelDeadlock=True")
    return Symptom(found[1], ConditionStatus(found[2]))


def _which(written: str) -> Which:
    if "=" in written:
        found = [_LABEL.fullmatch(part) for part in written.split(",")]
        labels = tuple((label[1], label[2]) for label in found if label is not None)
        if len(labels) == len(found):
            return ByLabels(labels)
    elif _NAMES.fullmatch(name := written.removeprefix("node/")):
        return ByName(name)
    raise ValueError(f"{written!r} names no nodes; {FORM}")


def _how_many(written: str) -> Limit:
    try:
        limit = parse_gate(written)
    except ValueError:
        limit = None
    if limit is None or isinstance(limit, Between):
        raise ValueError(f"{written!r} is neither a count nor a share; {FORM}")
    return limit


def _span(written: str) -> Span:
    first, dots, last = written.partition("..")
    begins = int(parse_duration(first).total_seconds())
    ends = int(parse_duration(last).total_seconds()) if dots else begins
    if ends < begins:
        raise ValueError(f"{written!r} ends before it begins")
    return Span(begins, ends)
