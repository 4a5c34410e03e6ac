"""What `kubectl mend timeline` tells. Every form of it, text or picture, is drawn from this alone."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Lane(StrEnum):
    """Who acts, or what it happens to."""

    NODE = "node"
    CHECK = "check"
    REMEDIATION = "remediation"
    HOST = "host"
    WORKLOADS = "workloads"


class Mark(StrEnum):
    """How much a moment matters."""

    PLAIN = "plain"
    TROUBLE = "trouble"
    EVIDENCE = "evidence"
    RELEASE = "release"


class Tone(StrEnum):
    """How a state is to be taken."""

    WELL = "well"
    WAITS = "waits"
    SICK = "sick"
    WORKS = "works"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class State:
    """Something that lasts."""

    label: str
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened. `key` is stable, for programs; empty for what has no name of its own."""

    at: datetime
    lane: Lane
    what: str
    key: str = ""
    mark: Mark = Mark.PLAIN
    evidence: str = ""
    """E1 to E5, where that was reached, or where what happened rests on it."""
    because: str = ""
    """What that evidence was."""
    sources: tuple[str, ...] = ()
    times: int = 1
    """How often it was told, the last time at `last`."""
    last: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """How long a state lasted in its lane; `end` is None for one that lasts."""

    lane: Lane
    state: State
    begin: datetime
    end: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Workloads were let go: when, and on what. `evidence` is empty where that is on record no longer."""

    at: datetime
    evidence: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How long a part of it took; for one that lasts, so far."""

    name: str
    seconds: float
    lasts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """`moments` and `bars` are in order of time. `earlier` counts what is older than was asked for."""

    node: str
    now: datetime
    state: str
    moments: tuple[Moment, ...]
    bars: tuple[Bar, ...]
    releases: tuple[Release, ...]
    measures: tuple[Measure, ...]
    earlier: int
    since_seconds: float
    unread: tuple[str, ...]
    notes: tuple[str, ...]
    next_step: str
