"""What `kubectl mend explain` says."""

from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    YES = "yes"
    NO = "no"
    HOLD = "HOLD"
    OPEN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One thing that must be so before the next matters. `key` is stable, for programs."""

    key: str
    asked: str
    answer: Answer
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldView:
    """`reason` is the word that conditions, events and metrics use."""

    reason: str
    sentence: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainView:
    """Of a node, or of a Machine. `node` is empty for a Machine that has none yet."""

    node: str
    health: str
    headline: str
    questions: tuple[Question, ...]
    held: HeldView | None
    notes: tuple[str, ...]
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""
    """What else there is to do, or to wait for, as a sentence."""
    unread: tuple[str, ...] = ()
    """What could not be read, as sentences: the answer is without it."""
    machine: str = ""
    """Namespace and name of the Machine that is explained; empty for a node."""
    machines: "tuple[ExplainView, ...]" = ()
    """The Machines behind a node that is explained."""
