"""Keeps what every replica observes on its watches, so that a new leader does not start from zero.

The age of a condition's status is measured by this process's monotonic clock only. Every replica records
completed remediations, so none is lost when the leader changes; one that ends while no replica runs is not
recorded. The time since which a target has been unhealthy belongs to one leader term: it measures the delay
until the target's remediation starts.
"""

from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, assert_never

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus
from nodemend.api.remediation_policy import RemediationOrder
from nodemend.guard.state import ControlPlaneIndex
from nodemend.kube.store import Change
from nodemend.records.node import NodeRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.node import (
    ConditionSeen,
    Healthy,
    Match,
    NeverStarted,
    NodeHealth,
    ShownCondition,
    Suspect,
    Unhealthy,
    Unjudged,
)

_STATUSES: Final = {str(status): status for status in ConditionStatus}


class Stated(ShownCondition, Protocol):
    """A condition as stored in a record. Its time identifies a transition and is never used as a clock."""

    @property
    def last_transition_time(self) -> object: ...


class ConditionTracker:
    """Tracks since when each condition has shown its status without interruption, until it is forgotten.

    A watch delivers every change. So an age restarts when the condition shows another status, and a
    transition time that moves while the status stays the same changes nothing. After a gap in the watch (a
    new list), a condition whose transition time has moved may have had another status in between, so its age
    restarts too.
    """

    def __init__(self) -> None:
        # The conditions are the same objects as in the record, so a node costs only a few extra numbers.
        self._since: dict[str, tuple[Sequence[Stated], tuple[float, ...]]] = {}
        self._new: tuple[float, ...] = ()

    def observe(self, uid: str, conditions: Sequence[Stated], now: float, *, after_gap: bool = False) -> None:
        """Update from one change of a record; the caller must pass every change.

        `after_gap`: earlier changes may be missing.
        """
        shown, since = self._since.get(uid, ((), ()))
        if after_gap or not shown or shown is conditions:
            times = self.since(uid, conditions, now)
        else:
            known = {(one.type, one.status): time for one, time in zip(shown, since, strict=True)}
            times = tuple([known.get((one.type, one.status), now) for one in conditions])
        self._since[uid] = conditions, times

    def forget(self, uid: str) -> None:
        self._since.pop(uid, None)

    def ages(
        self, uid: str, conditions: Sequence[Stated], now: float, of: Container[str] | None = None
    ) -> tuple[ConditionSeen, ...]:
        """Return the conditions of the types `of`; all if `of` is None or the node has none of them."""
        times = self.since(uid, conditions, now)
        found = tuple(
            [
                ConditionSeen(condition.type, read_status(condition.status), now - since)
                for condition, since in zip(conditions, times, strict=True)
                if of is None or condition.type in of
            ]
        )
        return found if found or of is None else self.ages(uid, conditions, now)

    def since(self, uid: str, conditions: Sequence[Stated], now: float) -> tuple[float, ...]:
        """Return the start time of each condition's status; `now` for a newly observed status."""
        shown, since = self._since.get(uid, ((), ()))
        if shown is conditions:
            return since
        if not shown:
            return self._all_new(now, len(conditions))
        known = {_transition(condition): time for condition, time in zip(shown, since, strict=True)}
        return tuple([known.get(_transition(condition), now) for condition in conditions])

    def _all_new(self, now: float, number: int) -> tuple[float, ...]:
        """Return one shared tuple for all nodes of a list, since they are first observed at the same time."""
        new = (now,) * number
        if self._new != new:
            self._new = new
        return self._new


def _transition(condition: Stated) -> tuple[str, str, object]:
    return condition.type, condition.status, condition.last_transition_time


def read_status(said: str) -> ConditionStatus:
    """Parse a condition's status; an unknown value counts as Unknown."""
    return _STATUSES.get(said, ConditionStatus.UNKNOWN)


MOST: Final = 200
"""Ten times what a check keeps. If remediations end faster than a leader writes, the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class CompletedRemediation:
    """A completed remediation. `at` is the time of its observed deletion.

    `with_node` is true if its node was also deleted by then.
    """

    record: RemediationRecord
    at: str
    with_node: bool


@dataclass(frozen=True, slots=True)
class CompletedRemediations:
    _last: deque[CompletedRemediation] = field(default_factory=lambda: deque(maxlen=MOST))

    def note(self, ending: CompletedRemediation) -> None:
        """Record a completed remediation. Ignores one that no check requested: it belongs to no history."""
        if well_known.CHECK_UID in ending.record.annotations:
            self._last.append(ending)

    def of_check(self, uid: str) -> Iterator[CompletedRemediation]:
        """Yield the completed remediations of a check, newest first."""
        for ending in reversed(self._last):
            if ending.record.annotations[well_known.CHECK_UID] == uid:
                yield ending


class UnhealthySince:
    """Targets with a finding, for one leader term. An episode ends when the target is Healthy."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._begun: set[str] = set()

    def note(self, target: str, health: NodeHealth, now: float) -> None:
        match health:
            case Healthy():
                self.forget(target)
            case Suspect(match) | Unhealthy(match):
                age = match.age if isinstance(match, Match | NeverStarted) else 0.0
                # A condition that changes from Unknown to False restarts its age; the episode goes on.
                self._since[target] = min(self._since.get(target, now), now - age)
            case Unjudged():
                pass
            case _:
                assert_never(health)

    def begin(self, target: str, now: float) -> float | None:
        """Return the seconds since the first finding.

        None if there was no finding, or if an earlier remedy of this episode has already started.
        """
        first, known = target not in self._begun, self._since.get(target)
        self._begun.add(target)
        return now - known if first and known is not None else None

    def forget(self, target: str) -> None:
        self._since.pop(target, None)
        self._begun.discard(target)


@dataclass(frozen=True, slots=True)
class ObservationCache:
    ages: ConditionTracker = field(default_factory=ConditionTracker)
    control_plane_index: ControlPlaneIndex = field(default_factory=ControlPlaneIndex)
    remediations: dict[str, float] = field(default_factory=dict)
    """Time of the first observation of each remediation, by UID: the duration of a remedy counts from it."""

    completed: CompletedRemediations = field(default_factory=CompletedRemediations)

    orders: dict[str, float] = field(default_factory=dict)
    """Time of the first observation of each order, by UID: its age counts from there at the latest."""

    def note(self, change: Change[NodeRecord], now: float) -> None:
        """Update from one change of a Node record. The caller must pass every change."""
        if change.new is not None:
            self.ages.observe(change.new.uid, change.new.conditions, now, after_gap=change.relisted)
            self.control_plane_index.observe(change.new)
        elif change.old is not None:
            self.ages.forget(change.old.uid)
            self.control_plane_index.forget(change.old.name)

    def note_remediation(self, change: Change[RemediationRecord], now: float) -> None:
        if change.new is not None:
            self.remediations.setdefault(change.new.uid, now)
        elif change.old is not None:
            self.remediations.pop(change.old.uid, None)

    def note_ending(self, record: RemediationRecord, at: str, node: NodeRecord | None) -> None:
        """Record a completed remediation. `node` is the current Node of its name, or None."""
        with_node = node is None or node.uid not in record.owners
        self.completed.note(CompletedRemediation(record, at, with_node))

    def note_order(self, change: Change[RemediationOrder], now: float) -> None:
        if change.new is not None:
            self.orders.setdefault(change.new.metadata.uid, now)
        elif change.old is not None:
            self.orders.pop(change.old.metadata.uid, None)
