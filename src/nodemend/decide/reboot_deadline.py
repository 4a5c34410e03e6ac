"""T_safe: how long after its marker a node that feeds its watchdog by the rules has certainly been reset.

In words: the last clean look was sent before the marker was written, and lets the feeder ping for G. A ping
that was allowed may be late, but not later than the watchdog's end, W after the ping before it. If the feeder
dies just then, the kernel pings once more as it closes the device. W later the machine is reset. So G + 3W,
each stretched by what its clock may be wrong, and then the reset itself and what storage still has in flight.
The proof is docs/explanation/self_fencing.md; tests/model checks it.
"""

from dataclasses import dataclass
from typing import Final

WATCHDOGS: Final = 3
"""Watchdog times that pass at most after the last allowed check: a late ping, the kernel's own, the end."""


CLOCK_ERROR: Final = 0.001
"""What is assumed of the clocks of agents and managers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencingTimes:
    """What a node has published, and what is assumed of its parts. In seconds, but for the two rates."""

    feed_lease: float
    """G."""
    watchdog: float
    """W: the effective time from the last ping to the reset, never the number written to the driver."""
    clock_error: float = CLOCK_ERROR
    """By what share the clocks of agents and managers may run fast or slow."""
    watchdog_error: float = 0.02
    """The same for the watchdog's own oscillator."""
    reset_takes: float = 1.0
    drain: float = 5.0
    """For writes that have left the node and still land."""

    def __post_init__(self) -> None:
        lengths = (self.feed_lease, self.watchdog)
        if min(lengths) <= 0 or min(self.reset_takes, self.drain) < 0:
            raise ValueError(f"times that prove nothing: {self}")
        if not (0 <= self.clock_error < 0.5 and 0 <= self.watchdog_error < 0.5):
            raise ValueError(f"clocks that are this wrong prove nothing: {self}")


@dataclass(frozen=True, slots=True)
class TooShort:
    """Somebody wants to wait less than what proves anything."""

    wanted: float
    least: float

    def __str__(self) -> str:
        return f"{self.wanted:g} s prove nothing for this node: at least {self.least:.1f} s do"


def safe_time(times: FencingTimes) -> float:
    """Seconds by a manager's clock, from the acknowledged marker: then no process of that boot runs."""
    lease = times.feed_lease / (1 - times.clock_error)
    resets = WATCHDOGS * times.watchdog / (1 - times.watchdog_error)
    return (1 + times.clock_error) * (lease + resets + times.reset_takes + times.drain)


def judge_deadline(wanted: float | None, times: FencingTimes) -> float | TooShort:
    """How long to wait: what somebody configured, unless that is too short. It is never raised silently."""
    least = safe_time(times)
    if wanted is None:
        return least
    return TooShort(wanted, least) if wanted < least else wanted
