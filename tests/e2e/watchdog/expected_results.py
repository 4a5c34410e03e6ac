"""The stories and their expected results. `guest/stories.py` has their course inside the guest."""

from dataclasses import dataclass
from typing import Final, Literal

HARDWARE: Final = ("i6300esb", "iTCO_wdt")
ALL: Final = (*HARDWARE, "softdog")
FROZEN_SECONDS: Final = 14.0
"""Longer than any effective time to reset here."""

Anchor = Literal["ping", "close", "lease", "resumed", "fault"]


@dataclass(frozen=True, slots=True)
class ResetsAfter:
    """A reset by this many effective times after the anchor, plus one second; not before the device could."""

    anchor: Anchor
    times: int = 1
    by_the_device: bool = True
    noticed_within: float = 0.0
    """Seconds from the anchor to a read of the feeder that shows the cause."""


@dataclass(frozen=True, slots=True)
class StaysUp:
    """No reset until the story ends, which is longer than any reset takes, and the feeder in this state."""

    state: str = "armed"


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    expected: ResetsAfter | StaysUp
    drivers: tuple[str, ...] = ALL
    warped: bool = True
    """False if the guest's clocks must run like the host's: then the guest cannot report the time of the
    reset.
    """


AFTER_PING, AFTER_CLOSE = ResetsAfter("ping"), ResetsAfter("close")
AFTER_LEASE: Final = ResetsAfter("lease", 2)
AT_ONCE: Final = ResetsAfter("fault", 0, by_the_device=False, noticed_within=0.5)
"""The feeder reads its record four times per ping, which is every two seconds here."""

STORIES: Final = (
    Story("feeds", StaysUp()),
    # The feeder fails.
    Story("feeder_stopped", AFTER_PING),
    Story("feeder_killed", AFTER_CLOSE),
    Story("feeder_killed_for_memory", AFTER_CLOSE),
    Story("memory_used_up", StaysUp()),
    Story("processor_hogged", AFTER_PING),
    # A kernel timer does not survive a panic, which is why softdog is a weaker class.
    Story("kernel_panics", AFTER_PING, HARDWARE, warped=False),
    Story("feeder_hangs", AFTER_PING),
    Story("feeder_fails", AFTER_CLOSE),
    Story("feeder_crashes_again_and_again", AFTER_LEASE),
    Story("feeder_restarted", StaysUp()),
    Story("another_feeder_waits", StaysUp()),
    # The agent fails. A fake agent renews the lease.
    Story("writer_stopped", AFTER_LEASE),
    Story("writer_killed", AFTER_LEASE),
    Story("writer_hangs", AFTER_LEASE),
    Story("writer_writes_garbage", AFTER_LEASE),
    Story("writer_restarted", StaysUp()),
    Story("writer_stops_gracefully", StaysUp("stood-down")),
    Story("disarm_permission_taken_away", AFTER_PING),
    # The feeder is stopped.
    Story("stopped_with_permission", StaysUp("ended")),
    Story("stopped_without_permission", AFTER_CLOSE),
    Story("stopped_with_a_permission_of_another_boot", AFTER_CLOSE),
    Story("fence_requested", AFTER_PING),
    Story("fenced_and_rebooted", AT_ONCE),
    # The machine is paused from outside.
    Story("frozen", ResetsAfter("resumed"), warped=False),
    Story("paused_unseen", StaysUp()),
)


@dataclass(frozen=True, slots=True)
class Play:
    story: Story
    driver: str


def plays(count: int) -> list[Play]:
    """This many plays, spread over all stories and drivers, and repeated if there are fewer combinations."""
    every = [Play(story, driver) for story in STORIES for driver in story.drivers]
    whole, rest = divmod(count, len(every))
    return [*every * whole, *(every[number * len(every) // rest] for number in range(rest))]
