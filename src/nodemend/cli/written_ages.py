"""Ages by the times that are written in objects, for whoever has not watched."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from nodemend.api.timestamps import written_moment
from nodemend.cli.listed_objects import NOW_IN_VIEW
from nodemend.controllers.checking.condition_ages import ConditionAges


class Dated(Protocol):
    """A condition with the time of its last change."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def last_transition_time(self) -> str | None: ...


def age_of(text: str | None, now: datetime) -> float | None:
    """In seconds. None where nothing tells."""
    moment = written_moment(text)
    return None if moment is None else written_age(moment, now)


def written_age(time: datetime | str | None, now: datetime) -> float:
    """What has no time that can be read, or one to come, is new."""
    moment = written_moment(time) if isinstance(time, str) else time
    return max((now - moment).total_seconds(), 0.0) if moment is not None else 0.0


def remember_written(ages: ConditionAges, uid: str, conditions: Sequence[Dated], now: datetime) -> None:
    """Each condition has stood since the time that is written in it, as for whoever has watched."""
    since = [NOW_IN_VIEW - written_age(one.last_transition_time, now) for one in conditions]
    for begin in sorted(set(since)):
        shown = [one for one, begun in zip(conditions, since, strict=True) if begun <= begin]
        ages.observe(uid, shown, begin)
