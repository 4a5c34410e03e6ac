"""What can be wrong with a target, and the words for each."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from nodemend.api.conditions import ConditionStatus


class Subject(StrEnum):
    """Whose condition it is."""

    NODE = "Node"
    MACHINE = "Machine"


@dataclass(frozen=True, slots=True)
class Match:
    """A threshold and the condition that meets it. `reason` is the condition's own."""

    type: str
    status: ConditionStatus
    age: float
    period: float
    of: Subject = Subject.NODE
    reason: str = ""

    @property
    def remaining(self) -> float:
        return max(0.0, self.period - self.age)


@dataclass(frozen=True, slots=True)
class NeverStarted:
    """The machine has not become a node; `age` is since when it could have."""

    age: float
    period: float

    @property
    def remaining(self) -> float:
        return max(0.0, self.period - self.age)


@dataclass(frozen=True, slots=True)
class NodeGone:
    """The machine had a node, and the API server has it no more."""

    node: str

    @property
    def remaining(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class AskedFor:
    """Somebody asked for this very target, by an annotation, which may have to stand for a while."""

    by: str
    age: float = 0.0
    period: float = 0.0

    @property
    def remaining(self) -> float:
        return max(0.0, self.period - self.age)


@dataclass(frozen=True, slots=True)
class PhaseFailed:
    """The machine's own controller has given it up."""

    why: str

    @property
    def remaining(self) -> float:
        return 0.0


Finding = Match | NeverStarted | NodeGone | AskedFor | PhaseFailed


def spell_finding(finding: Finding) -> str:
    """In words that do not change while nothing does: without ages."""
    match finding:
        case Match(type_, status, _, period, of, reason):
            whose = "" if of is Subject.NODE else f"{of} "
            because = f" ({reason})" if reason else ""
            return f"{whose}{type_}={status}{because} {_for(finding)} {period:.0f} s"
        case NeverStarted(_, period):
            return f"no node {_for(finding)} {period:.0f} s"
        case NodeGone(node):
            return f"its Node {node} is gone"
        case AskedFor(by):
            return f"asked for by {by}"
        case PhaseFailed(why):
            return f"its phase is Failed: {why}" if why else "its phase is Failed"
        case _:
            assert_never(finding)


def _for(finding: Match | NeverStarted) -> str:
    return "for less than" if finding.remaining > 0 else "for"
