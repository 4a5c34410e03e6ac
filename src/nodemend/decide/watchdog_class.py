"""What a watchdog is worth: whether a time proof may rest on it, and how long it really takes to reset.

The number that is written to a driver is not the time to reset. Some devices count it down twice, some round
it; so W, on which the safe time rests, is the *effective* time: by a table of drivers that were measured, by
a drill on this very machine, or twice what was written. Whichever is larger counts.
"""

from nodemend.decide.small_value import SmallValue

SECOND = 1_000_000_000
"""Times are whole nanoseconds: nothing is rounded, and a comparison means what it says."""


class Hardware(SmallValue):
    """A device of its own: resets in any state of the software."""


class Software(SmallValue):
    """A timer of the kernel (softdog): gone after a panic that does not reboot, and with interrupts off."""


class Unsupported(SmallValue):
    """No time proof may rest on it."""

    why: str


WatchdogClass = Hardware | Software | Unsupported


class Physical(SmallValue):
    """The machine is not a guest of another."""


class Virtual(SmallValue):
    """A guest. Whoever runs it may pause it, and its watchdog and clocks with it."""


class Undetermined(SmallValue):
    """Nobody could tell."""


Machine = Physical | Virtual | Undetermined


class KnownDriver(SmallValue):
    """`permille` is the time to reset for each thousand of what was written."""

    software: bool
    permille: int
    emulated: bool = False
    """No board has had this chip for long: whoever has it is a virtual machine, whatever else is said."""


KNOWN_DRIVERS = {
    "i6300ESB timer": KnownDriver(software=False, permille=1007, emulated=True),
    "iTCO_wdt": KnownDriver(software=False, permille=2000),
    "Software Watchdog": KnownDriver(software=True, permille=1000),
}
"""By the name that a driver gives itself (WDIOC_GETSUPPORT). Measured on a real kernel by `just watchdog`."""

UNKNOWN_DRIVER = KnownDriver(software=False, permille=2000)
"""A driver that is not in the table may be one of those that count down twice."""


class Drill(SmallValue):
    """A reset of this machine that somebody timed: after how long, with what written, by which driver."""

    identity: str
    written_seconds: int
    reset_after: int


def judge_class(
    identity: str | None,
    machine: Machine,
    *,
    closing_disarms: bool = False,
    alarm_only: bool = False,
    may_sleep: bool = False,
) -> WatchdogClass:
    """`identity` is the driver's name for itself; None when there is no device.

    What kind of device it is: that it resets, too, only a reset shows (agent/last_words/tested_watchdog.py).
    `alarm_only`: it says itself that it does not (WDIOF_ALARMONLY).
    `may_sleep`: somebody may suspend or hibernate the machine. What sleeps is not reset, and goes on later.

    `closing_disarms`: the driver knows no magic byte, and was not loaded with nowayout. The kernel stops such
    a device when whoever has it open dies, and a dead feeder would then protect nobody.
    """
    if identity is None:
        return Unsupported("there is no watchdog device")
    if closing_disarms:
        return Unsupported("closing the device disarms it: the driver must be loaded with nowayout")
    if alarm_only:
        return Unsupported("the device raises an alarm and resets nothing (WDIOF_ALARMONLY)")
    if may_sleep:
        return Unsupported("the machine may be put to sleep: mask sleep.target")
    match Virtual() if _driver(identity).emulated else machine:
        case Virtual():
            return Unsupported("a virtual machine can be paused, and its watchdog with it")
        case Undetermined():
            return Unsupported("it is not known whether this is a virtual machine")
        case Physical():
            return Software() if _driver(identity).software else Hardware()


def effective_time(identity: str, written_seconds: int, drill: Drill | None = None) -> int:
    """Nanoseconds from the last ping to the reset, at most.

    A drill counts for the same driver with the same number written, and never makes the time shorter than
    what the table says: one quick reset does not prove that the next is as quick. It does replace the
    doubling of an unknown driver, down to what was written.
    """
    known = KNOWN_DRIVERS.get(identity)
    written = written_seconds * SECOND
    tabled = -(-written * (known or UNKNOWN_DRIVER).permille // 1000)
    if drill is None or (drill.identity, drill.written_seconds) != (identity, written_seconds):
        return tabled
    return max(tabled if known else written, drill.reset_after)


def seconds_to_write(identity: str, wanted: int) -> int:
    """The largest number that resets within `wanted` nanoseconds, by the table; 1 where that takes longer."""
    return max(1, wanted * 1000 // (_driver(identity).permille * SECOND))


def _driver(identity: str) -> KnownDriver:
    return KNOWN_DRIVERS.get(identity, UNKNOWN_DRIVER)
