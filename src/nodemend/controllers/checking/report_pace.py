"""When a report is looked at again though nothing about its check has changed."""

from typing import Final

from nodemend.decide.guard_holds import (
    ApiUnsettled,
    Paused,
    Settling,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
)
from nodemend.decide.holds import Hold, ViewStale
from nodemend.decide.storm_guard import Go
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter

REPORT_AT_MOST_EVERY: Final = 1.0
"""Seconds: what changes together is told together."""
WHILE_WAITING: Final = 10.0
"""Seconds after which a report is looked at again: storms end elsewhere and settle by time alone."""

_PASSING: Final = (
    Paused,
    Settling,
    ApiUnsettled,
    ViewStale,
    TooManyAtOnce,
    TooManyUnhealthy,
    TooFewUnhealthy,
)
"""Holds that end without a change of anything about the check: by time, or when others recover."""


def after_report(guarded: Go | Hold, reminder_in: float | None = None) -> Outcome:
    """`reminder_in` is when something that is held will be told again."""
    if isinstance(guarded, Hold) and isinstance(guarded.reason, _PASSING):
        return RequeueAfter(WHILE_WAITING if reminder_in is None else min(WHILE_WAITING, reminder_in))
    return Done() if reminder_in is None else RequeueAfter(reminder_in)
