"""Watchdog class: whether a time proof may rest on a watchdog, and its real time to reset.

The number that is written to a driver is not the time to reset. Some devices count it down twice, some round
it. So W, on which the safe time rests, is the *effective* time: from a table of measured drivers, from a
drill on the same machine, or twice the written number. The largest of these counts.
"""

from nodemend.protocol.values import SmallValue

SECOND = 1_000_000_000
"""Times are whole nanoseconds: there is no rounding, and comparisons are exact."""


class Hardware(SmallValue):
    """A separate device: it resets the machine in any state of the software."""

    kind = "hardware"


class Software(SmallValue):
    """A kernel timer (softdog): it fails after a panic that does not reboot, and with interrupts off."""

    kind = "software"


class Unsupported(SmallValue):
    """No time proof may rest on it."""

    kind = "unsupported"
    why: str


WatchdogClass = Hardware | Software | Unsupported


class Physical(SmallValue):
    """The machine is not a virtual machine."""


class Virtual(SmallValue):
    """A virtual machine. Its hypervisor may pause it, and its watchdog and clocks with it."""


class Undetermined(SmallValue):
    """It is unknown whether the machine is virtual."""


Machine = Physical | Virtual | Undetermined


class KnownDriver(SmallValue):
    """A measured driver. `permille` is the time to reset for each thousand of the written number."""

    software: bool
    permille: int
    emulated: bool = False
    """No board has had this chip for a long time: a machine with it is virtual, regardless of other facts."""


KNOWN_DRIVERS = {
    "i6300ESB timer": KnownDriver(software=False, permille=1007, emulated=True),
    "iTCO_wdt": KnownDriver(software=False, permille=2000),
    "Software Watchdog": KnownDriver(software=True, permille=1000),
}
"""By the name that a driver reports (WDIOC_GETSUPPORT). Measured on a real kernel by `just watchdog`."""

UNKNOWN_DRIVER = KnownDriver(software=False, permille=2000)
"""A driver that is not in the table may be one of those that count down twice."""


class Drill(SmallValue):
    """A timed reset of this machine: its duration, the number written, and the driver."""

    identity: str
    written_seconds: int
    reset_after: int


def evaluate_class(
    identity: str | None,
    machine: Machine,
    *,
    closing_disarms: bool = False,
    alarm_only: bool = False,
    may_sleep: bool = False,
) -> WatchdogClass:
    """Return the class of the device. `identity` is the driver's own name; None if there is no device.

    The class is only the kind of device: a reset alone proves that it resets
    (agent/reset_log.py). `alarm_only`: the device reports that it does not reset
    (WDIOF_ALARMONLY). `may_sleep`: the machine can be suspended or hibernated. A sleeping machine is not
    reset, and continues later.

    `closing_disarms`: the driver knows no magic byte, and was not loaded with nowayout. The kernel stops such
    a device when the process that has it open dies, so after the feeder's death it would protect nothing.
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
    """Return nanoseconds from the last ping to the reset, at most.

    A drill counts for the same driver with the same number written, and never makes the time shorter than in
    the table: one fast reset does not prove that the next is as fast. It does replace the doubling of an
    unknown driver, down to the written number.
    """
    known = KNOWN_DRIVERS.get(identity)
    written = written_seconds * SECOND
    tabled = -(-written * (known or UNKNOWN_DRIVER).permille // 1000)
    if drill is None or (drill.identity, drill.written_seconds) != (identity, written_seconds):
        return tabled
    return max(tabled if known else written, drill.reset_after)


def seconds_to_write(identity: str, wanted: int) -> int:
    """Return the largest number that resets within `wanted` nanoseconds, by the table.

    Return 1 if even that takes longer.
    """
    return max(1, wanted * 1000 // (_driver(identity).permille * SECOND))


def _driver(identity: str) -> KnownDriver:
    return KNOWN_DRIVERS.get(identity, UNKNOWN_DRIVER)
