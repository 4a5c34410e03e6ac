"""Rules, states, events and commands of the feeder's state machine, and its status file.

The status file is for the agent, the boot gate and operators: one fact per line, name first.
"""

from nodemend.agent.watchdog.records import VERSION as RECORDS
from nodemend.agent.watchdog.records import NoRecord, RefusedRecord, is_number
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.values import SmallValue
from nodemend.protocol.watchdog_drivers import Drill, Machine, Unsupported, WatchdogClass


class FeederRules(SmallValue):
    """Settings of one feeder process. Times are nanoseconds."""

    boot_id: str
    lease_length: int
    wanted_reset: int
    """Requested effective reset time, reached as far as the driver supports it."""
    ping_every: int
    read_interval: int
    """Interval of lease file reads, whether or not a ping is due."""
    check_every: int | None
    """Interval of the feeder's own API checks once half of the lease has passed; None: no checks."""
    machine: Machine
    drill: Drill | None = None
    may_sleep: bool = False
    """True if this machine may be suspended, and its watchdog with it."""
    longest_timeout: int | None = None
    """Seconds that an earlier feeder of this boot wrote to the device; None if none did. The feeder never
    writes more."""


class Device(SmallValue):
    """An open watchdog. `nowayout` is None if the kernel does not report it."""

    identity: str
    timeout_seconds: int
    magic_close: bool
    nowayout: bool | None
    alarm_only: bool = False

    @property
    def closing_disarms(self) -> bool:
        """True if the kernel stops the watchdog when the feeder dies."""
        return not self.magic_close and not self.nowayout


# States. `name` is for the log, `reported` for the status file.


class LockedOut(SmallValue):
    """Another feeder holds the lock."""

    name = "LockedOut"
    reported = "locked-out"


class Waiting(SmallValue):
    """There is no lease yet. The device is closed, because opening it is a ping."""

    name = "Waiting"
    reported = "waiting"


class Armed(SmallValue):
    """The device is open and fed."""

    name = "Armed"
    reported = "armed"


class StoppedGracefully(SmallValue):
    """The device is open and fed regardless of the lease: the agent stopped gracefully."""

    name = "StoppedGracefully"
    reported = "stood-down"


class Starving(SmallValue):
    """The device is open and not fed. `permanent`: a whole reset time passed between two pings."""

    name = "Starving"
    reported = "starving"
    since: int
    permanent: bool


class StoppedForFence(SmallValue):
    """This boot must end. The feeder never pings again."""

    name = "FenceRequested"
    reported = "condemned"


class Ended(SmallValue):
    """The feeder exited in order. `FeederStatus.why` states whether the device stays armed."""

    name = "Ended"
    reported = "ended"


FeederState = LockedOut | Waiting | Armed | StoppedGracefully | Starving | StoppedForFence | Ended


# Events.


class FeederStarted(SmallValue):
    """The first event."""


class LockTaken(SmallValue):
    """The feeder holds the lock until it dies."""


class LockRefused(SmallValue):
    """Another process holds the lock."""


class FilesRead(SmallValue):
    """The content of the lease file, the permit and the gate's state, all read just now."""

    record: FeedLease | NoRecord | RefusedRecord
    permitted: bool = False
    gate: str = ""
    """State of the boot gate before an agent starts: `records.CLOSED` or `PUBLISHED`; otherwise empty."""
    lead: int = 0
    """Nanoseconds that CLOCK_MONOTONIC_RAW gained on CLOCK_BOOTTIME within the length of a lease."""


class DeviceOpened(SmallValue):
    """The device is open, which pinged it."""

    device: Device


class OpenRefused(SmallValue):
    why: str


class TimeoutSet(SmallValue):
    """The timeout is set; `seconds` is what the device reports."""

    seconds: int


class Pinged(SmallValue):
    pass


class PingFailed(SmallValue):
    why: str


class Clean(SmallValue):
    """The API server shows no marker."""


class Marked(SmallValue):
    """The API server shows a marker for this boot."""


class OtherMarker(SmallValue):
    """A marker that neither ends this boot at once nor lets it continue: a drill's or another boot's."""


class CheckFailed(SmallValue):
    why: str


class Answered(SmallValue):
    """The running API check ended; `asked_at` is from before its start."""

    answer: Clean | Marked | OtherMarker | CheckFailed
    asked_at: int


class FeederStopRequested(SmallValue):
    """The feeder must exit. `looked` is read just now: a boot that must end is not disarmed."""

    looked: FilesRead


class Disarmed(SmallValue):
    """The device was closed with the magic byte. `proven`: the kernel reports it inactive."""

    proven: bool


FeederEvent = (
    FeederStarted
    | LockTaken
    | LockRefused
    | FilesRead
    | DeviceOpened
    | OpenRefused
    | TimeoutSet
    | Pinged
    | PingFailed
    | Answered
    | FeederStopRequested
    | Disarmed
)


# Commands.


class TakeDeviceLock(SmallValue):
    """Answered by LockTaken or LockRefused."""


class ReadFiles(SmallValue):
    """Read the lease file at once. Answered by FilesRead."""


class Open(SmallValue):
    """Answered by DeviceOpened or OpenRefused."""


class SetTimeout(SmallValue):
    """Answered by TimeoutSet."""

    seconds: int


class Ping(SmallValue):
    """Answered by Pinged or PingFailed."""


class Disarm(SmallValue):
    """Close with the magic byte. Answered by Disarmed."""


class RunMarkerCheck(SmallValue):
    """Start an API check. Its Answered arrives during a SleepUntil."""


class ForgetGate(SmallValue):
    """Remove the boot gate's state: from now on the lease alone decides, in every feeder of this boot."""


class TryReboot(SmallValue):
    """An attempt that proves nothing: the device resets the machine in any case."""


class KeepResetLog(SmallValue):
    """Start a process that records on disk, for the next boot, that this boot is no longer fed."""


class SleepUntil(SmallValue):
    """Wait until this time or an earlier event, then read the lease file."""

    until: int


class Exit(SmallValue):
    """Exit. An open device is closed without the magic byte and stays armed."""

    why: str


class WriteStatus(SmallValue):
    status: "FeederStatus"


FeederOperation = (
    TakeDeviceLock
    | ReadFiles
    | Open
    | SetTimeout
    | Ping
    | Disarm
    | RunMarkerCheck
    | ForgetGate
    | TryReboot
    | KeepResetLog
    | SleepUntil
    | WriteStatus
)
FeederCommand = FeederOperation | Exit


class FeederStatus(SmallValue):
    """The feeder's published state. Unknown times are None."""

    state: FeederState
    why: str
    lease: FeedLease
    renewed_by_agent: bool
    """True if the agent renewed the lease last; False if the feeder did, by its own check."""
    lease_length: int
    device: Device | None
    watchdog_class: WatchdogClass
    effective: int | None
    last_ping: int | None


_KIND = "nodemend-feeder-status"
VERSION = f"{_KIND} 1"
"""A later version may add facts and never changes the meaning of a name."""


def format_status(status: FeederStatus, boot_id: str, lacking: list[str]) -> bytes:
    """Return the status file. Times are CLOCK_BOOTTIME in nanoseconds; unknown facts have no line."""
    device = status.device
    facts: dict[str, object] = {
        "boot": boot_id,
        "reads": RECORDS,
        "state": status.state.reported,
        "why": status.why,
        "lease-until": status.lease.until,
        "lease-length": status.lease_length,
        "lease-by": "agent" if status.renewed_by_agent else "feeder",
        "class": status.watchdog_class.kind,
        "lacking": ",".join(lacking),
        "effective": status.effective,
        "last-ping": status.last_ping,
    }
    if isinstance(status.state, Starving):
        facts["starving-since"] = status.state.since
        facts["for-good"] = _yes(status.state.permanent)
    if isinstance(status.watchdog_class, Unsupported):
        facts["unsupported-because"] = status.watchdog_class.why
    if device is not None:
        facts["driver"] = device.identity
        facts["written-seconds"] = device.timeout_seconds
        facts["magic-close"] = _yes(device.magic_close)
        facts["nowayout"] = "unknown" if device.nowayout is None else _yes(device.nowayout)
    reported = [f"{name} {value}" for name, value in facts.items() if value not in (None, "")]
    lines = [line.replace("\n", " ") for line in reported]
    return "\n".join([VERSION, *lines, ""]).encode("ascii", "replace")


def parse_status(text: bytes) -> dict[str, str]:
    """Return the facts by name; empty if the text is not a status."""
    # Not splitlines, which also splits at other characters than line feeds.
    first, *lines = text.decode("ascii", "replace").split("\n")
    kind, _, version = first.partition(" ")
    if kind != _KIND or not is_number(version) or int(version) < 1:
        return {}
    return {name: value for name, _, value in (line.partition(" ") for line in lines if line)}


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
