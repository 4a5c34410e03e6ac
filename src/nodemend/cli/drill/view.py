"""What `kubectl mend drill` shows before it asks, and what it has found out."""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Final

from nodemend.api.agent_lease import LastReset

MOMENT: Final = 0.5
"""Seconds by which a machine may outlive what it last wrote down: ten times a second, but to a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillView:
    """One node, in one boot, as it stands before it is reset."""

    node: str
    node_uid: str
    boot_id: str
    by: str
    watchdog: str
    """Its class, and its driver."""
    driver: str
    written_seconds: float
    effective_seconds: float
    """W, as managers count on it."""
    feed_lease_seconds: float
    """G: so long after the marker it may still feed its watchdog."""
    safe_time_seconds: int | None
    """T_safe; None where time proves nothing for it."""
    why_not_by_time: str
    pods: tuple[str, ...]
    """Those that would go with it."""


class Outcome(StrEnum):
    WITHIN = "within"
    LATE = "late"
    """Its watchdog took longer than managers count on: no release by time is safe there."""
    NOT_BY_WATCHDOG = "notByWatchdog"
    """Its kernel was asked for a reboot, and did it: nothing was timed."""
    NO_RECORD = "noRecord"
    """Nothing was found on its disk: an old agent or feeder, or it ended in another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrilledView:
    drill: DrillView
    outcome: Outcome
    reset_after_seconds: float | None
    """From the last ping to the last sign of life."""
    back_after_seconds: float
    """From the marker to the new boot's report."""
    new_boot_id: str

    @property
    def over_after(self) -> float:
        """Seconds after the marker by which the boot was over, by what was timed."""
        return self.drill.feed_lease_seconds + (self.reset_after_seconds or 0.0) + MOMENT

    @property
    def setting(self) -> str:
        """For NODEMEND_DRILL in the node's host.env."""
        milliseconds = ceil(((self.reset_after_seconds or 0.0) + MOMENT) * 1000)
        return f"{self.drill.driver},{self.drill.written_seconds:.0f},{milliseconds}"


def drilled_view(drill: DrillView, reset: LastReset | None, back_after: float, boot_id: str) -> DrilledView:
    """`reset` is what the new boot tells of the last one that was not fed."""
    told = reset if reset is not None and reset.boot_id == drill.boot_id else None
    return DrilledView(
        drill=drill,
        outcome=_judge(drill, told),
        reset_after_seconds=told.lived_on if told is not None and not told.condemned else None,
        back_after_seconds=back_after,
        new_boot_id=boot_id,
    )


def _judge(drill: DrillView, reset: LastReset | None) -> Outcome:
    if reset is None:
        return Outcome.NO_RECORD
    if reset.condemned:
        return Outcome.NOT_BY_WATCHDOG
    return Outcome.WITHIN if reset.lived_on <= drill.effective_seconds else Outcome.LATE
