"""What is remembered of a storm: while it rages nothing begins, nor for a while after it has ended.

Pure: time is an argument. A storm that ended is not replayed: when the settle time is over, every target is
judged by what it shows then.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Storm:
    """One scope's weather. `ended_at` is when the last storm was seen to end; None when there was none."""

    raging: bool = False
    ended_at: float | None = None


CALM = Storm()


def step(storm: Storm, *, raging: bool, now: float) -> Storm:
    """What is remembered after one more look."""
    if raging:
        return Storm(raging=True)
    return Storm(ended_at=now) if storm.raging else storm


def settling(storm: Storm, settle_time: float, now: float) -> float:
    """Seconds that are still to be waited after a storm; 0 when there is none to wait for."""
    if storm.raging or storm.ended_at is None:
        return 0.0
    return max(0.0, storm.ended_at + settle_time - now)
