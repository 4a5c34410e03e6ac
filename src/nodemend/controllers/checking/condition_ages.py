"""Since when each condition has stood, by our own clock and nobody else's."""

from collections.abc import Container, Sequence
from typing import Final, Protocol

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.health_glance import Shown
from nodemend.decide.node_health import ConditionSeen

_STATUSES: Final = {str(status): status for status in ConditionStatus}


class Stated(Shown, Protocol):
    """A condition as a record has it. The time names its last change, and is no clock to us."""

    @property
    def last_transition_time(self) -> object: ...


class ConditionAges:
    """Remembers since when we have seen each status without interruption. A forgotten node starts anew.

    A watch shows every change, so a condition starts anew when it shows another status, and a transition time
    that moves while the status stays the same changes nothing. After a gap in our view (a new list) a
    condition whose transition time has moved may have had another status meanwhile, and starts anew too.
    """

    def __init__(self) -> None:
        # The conditions themselves are the record's own: beside them a node costs us a few numbers.
        self._since: dict[str, tuple[Sequence[Stated], tuple[float, ...]]] = {}
        self._new: tuple[float, ...] = ()

    def observe(self, uid: str, conditions: Sequence[Stated], now: float, *, after_gap: bool = False) -> None:
        """Must be told of every change of a record; `after_gap` where changes before it may be missing."""
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
        """Those of the types `of`; of all where none is named, or the node shows none of them."""
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
        """Since when each of these has stood; `now` for what we had not seen."""
        shown, since = self._since.get(uid, ((), ()))
        if shown is conditions:
            return since
        if not shown:
            return self._all_new(now, len(conditions))
        known = {_transition(condition): time for condition, time in zip(shown, since, strict=True)}
        return tuple([known.get(_transition(condition), now) for condition in conditions])

    def _all_new(self, now: float, number: int) -> tuple[float, ...]:
        """One for all nodes of a list: they are first seen at the same moment."""
        new = (now,) * number
        if self._new != new:
            self._new = new
        return self._new


def _transition(condition: Stated) -> tuple[str, str, object]:
    return condition.type, condition.status, condition.last_transition_time


def read_status(said: str) -> ConditionStatus:
    """A status that nobody has heard of says nothing."""
    return _STATUSES.get(said, ConditionStatus.UNKNOWN)
