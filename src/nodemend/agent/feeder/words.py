"""What the feeder's machine hears, what it asks for, and what state it can be in."""

from nodemend.agent.feeder.records import NoRecord, RefusedRecord
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.small_value import SmallValue
from nodemend.decide.watchdog_class import Drill, Machine, WatchdogClass


class FeederRules(SmallValue):
    """What the feeder is told when it starts. Times are nanoseconds."""

    boot_id: str
    lease_length: int
    wanted_reset: int
    """The effective time to reset that it should arrange for, as far as the driver can."""
    ping_every: int
    look_every: int
    """How often it looks at the lease, whether or not a ping is due."""
    check_every: int | None
    """How often it asks the API server itself when half of the lease is over; None: never."""
    machine: Machine
    drill: Drill | None = None
    may_sleep: bool = False
    """Somebody may suspend this machine, and its watchdog with it."""
    longest_timeout: int | None = None
    """Seconds, as a feeder of this boot has written them to the device; None where none has. No more is."""


class Device(SmallValue):
    """An open watchdog. `nowayout` is None when the kernel does not say."""

    identity: str
    timeout_seconds: int
    magic_close: bool
    nowayout: bool | None
    alarm_only: bool = False

    @property
    def closing_disarms(self) -> bool:
        """Whether the kernel stops it when the feeder dies."""
        return not self.magic_close and not self.nowayout


# States.


class LockedOut(SmallValue):
    """Another feeder has the lock."""


class Waiting(SmallValue):
    """For a lease. The device is not open: opening it is a ping."""


class Armed(SmallValue):
    """The device is open and fed."""


class StoodDown(SmallValue):
    """The device is open and fed, whether or not the lease lasts: the agent was stopped, and said so."""


class Starving(SmallValue):
    """The device is open and not fed. For good if a whole time to reset went by between two pings."""

    since: int
    for_good: bool


class Condemned(SmallValue):
    """This boot must end. Nothing is pinged again, whatever comes."""


class Ended(SmallValue):
    """The feeder has ended in order; why tells whether the device stays armed."""


State = LockedOut | Waiting | Armed | StoodDown | Starving | Condemned | Ended


# Events.


class Begun(SmallValue):
    """First of all."""


class LockTaken(SmallValue):
    """It is ours until we die."""


class LockRefused(SmallValue):
    """Somebody has it."""


class Looked(SmallValue):
    """What the agent's lease file holds, and whether it left an acknowledged permit: both read just now."""

    record: FeedLease | NoRecord | RefusedRecord
    permitted: bool = False
    gate: str = ""
    """How the boot gate stands, before there is an agent: `records.CLOSED` or `PUBLISHED`; else empty."""
    lead: int = 0
    """How far CLOCK_MONOTONIC_RAW has run ahead of CLOCK_BOOTTIME within the length of a lease."""


class Opened(SmallValue):
    """The device is open, and thereby pinged."""

    device: Device


class OpenRefused(SmallValue):
    """It is not open."""

    why: str


class TimeoutSet(SmallValue):
    """The device was told its timeout, and says that it is this."""

    seconds: int


class Pinged(SmallValue):
    pass


class PingFailed(SmallValue):
    why: str


class Clean(SmallValue):
    """The API server showed no marker for this boot."""


class Marked(SmallValue):
    """It showed one."""


class OtherMarker(SmallValue):
    """It showed one that does not end this boot at once, and does not let it go on: a drill's, or of another
    boot."""


class CheckFailed(SmallValue):
    """It showed nothing."""

    why: str


class Answered(SmallValue):
    """The one check that was under way has ended."""

    answer: Clean | Marked | OtherMarker | CheckFailed
    asked_at: int


class StopAsked(SmallValue):
    """Somebody wants the feeder to end. With a look, made just now: a condemned node is not disarmed."""

    looked: Looked


class Disarmed(SmallValue):
    """The device was closed with the magic byte. `proven`: the kernel says that it is inactive."""

    proven: bool


Event = (
    Begun
    | LockTaken
    | LockRefused
    | Looked
    | Opened
    | OpenRefused
    | TimeoutSet
    | Pinged
    | PingFailed
    | Answered
    | StopAsked
    | Disarmed
)


# Commands.


class TakeLock(SmallValue):
    """Answered by LockTaken or LockRefused."""


class Look(SmallValue):
    """Read the lease file at once. Answered by Looked."""


class Open(SmallValue):
    """Answered by Opened or OpenRefused."""


class SetTimeout(SmallValue):
    """Answered by TimeoutSet."""

    seconds: int


class Ping(SmallValue):
    """Answered by Pinged or PingFailed."""


class Disarm(SmallValue):
    """Close with the magic byte. Answered by Disarmed."""


class Ask(SmallValue):
    """Begin a check of the API server. Its Answered comes while waiting."""


class ForgetGate(SmallValue):
    """Remove what the boot gate left: from now on the lease alone decides, in every feeder of this boot."""


class TryReboot(SmallValue):
    """An attempt, which proves nothing: the device resets the machine whether or not this works."""


class Note(SmallValue):
    """Let a process of its own keep a record on disk for the next boot: this one is not fed any more."""


class Wait(SmallValue):
    """Until then, or until something happens; then look."""

    until: int


class Exit(SmallValue):
    """End. What is still open is closed without the magic byte, and stays armed."""

    why: str


class Tell(SmallValue):
    """Publish for the agent how things stand."""

    status: "Status"


Deed = TakeLock | Look | Open | SetTimeout | Ping | Disarm | Ask | ForgetGate | TryReboot | Note | Wait | Tell
Command = Deed | Exit


class Status(SmallValue):
    """How things stand. Times are None where there is nothing to tell."""

    state: State
    why: str
    lease: FeedLease
    renewed_by_agent: bool
    """Whether the agent has renewed the lease last; else the feeder has, by a look of its own."""
    lease_length: int
    device: Device | None
    watchdog_class: WatchdogClass
    effective: int | None
    last_ping: int | None
