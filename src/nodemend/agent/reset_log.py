"""Records of boots that ended themselves, and what they prove about the watchdog. No I/O.

A record states boot, time, cause, and how long the boot ran without a ping. It is one line in a file named
after the boot. The recorder rewrites it at short intervals until the machine is reset, so that its last
version shows how long the reset took, less one interval.

A driver that loads may drive a chip that is wired to nothing, or that was configured to do nothing. Only a
reset shows that it resets: a reset that was not requested from the kernel, after the time that the device
takes. That is recorded per machine.
"""

from nodemend.agent.watchdog.records import SECOND, RefusedRecord, is_number, sealed, unsealed
from nodemend.protocol.values import SmallValue

_KIND = "nodemend-reset"
_NONE = "-"
FENCE_NOW = "condemned"
"""The feeder requested a reboot from the kernel: a marker, or a gap between two pings, had to end the boot at
once."""
_STARVING = "starving"
NOT_FED = (_STARVING, FENCE_NOW)
"""States of the feeder in which it does not feed. In any other it feeds again, or has exited in order."""


class ResetRecord(SmallValue):
    """The record of one boot. `wall` is Unix time in seconds; the others are its CLOCK_BOOTTIME in ns."""

    boot_id: str
    state: str
    wall: int
    last_ping: int
    alive_at: int
    written: int = 0
    effective: int = 0
    """The timeout that was written to the device, and the effective reset time that follows; 0 in older
    records."""
    driver: str = ""
    machine: str = ""
    """Tokens for the driver and for the machine; empty if unknown."""

    @property
    def lived_on(self) -> int:
        """Nanoseconds from the last ping to the last rewrite of the record."""
        return max(0, self.alive_at - self.last_ping)

    def report(self) -> dict[str, object]:
        """Return the record in the form of the report on the node's Lease."""
        return {
            "bootID": self.boot_id,
            "condemned": self.state == FENCE_NOW,
            "livedOn": self.lived_on / SECOND,
        }


def alphanumeric(text: str) -> str:
    """Return the text as one token of a line."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in text[:64])


def record_of(
    status: dict[str, str], boot_id: str, wall: int, now: int, machine: str = ""
) -> ResetRecord | None:
    """Return the record by the feeder's status; None if it feeds, has exited, or is of another boot."""
    state, last_ping = status.get("state", ""), status.get("last-ping", "")
    if status.get("boot") != boot_id or state not in NOT_FED:
        return None
    if status.get("for-good") == "yes":
        state = FENCE_NOW
    written, effective = status.get("written-seconds", ""), status.get("effective", "")
    return ResetRecord(
        boot_id,
        state,
        wall,
        int(last_ping) if is_number(last_ping) else now,
        now,
        int(written) * SECOND if is_number(written) else 0,
        int(effective) if is_number(effective) else 0,
        alphanumeric(status.get("driver", "")),
        machine,
    )


def format_reset(record: ResetRecord) -> bytes:
    times = (record.wall, record.last_ping, record.alive_at, record.written, record.effective)
    about = (record.driver or _NONE, record.machine or _NONE)
    return sealed(_KIND, record.boot_id, record.state, *map(str, times), *about)


def parse_reset(line: bytes) -> ResetRecord | RefusedRecord:
    words = unsealed(_KIND, line, 9, fewest=5)
    if isinstance(words, RefusedRecord):
        return words
    match words:
        case [boot_id, state, *times] if state in NOT_FED and all(map(is_number, times[:3])) and times[2:]:
            wall, last_ping, alive_at = map(int, times[:3])
            return _completed(ResetRecord(boot_id, state, wall, last_ping, alive_at), times[3:])
        case _:
            return RefusedRecord("it has other words than the record of a reset")


def _completed(record: ResetRecord, more: list[str]) -> ResetRecord:
    """Add the fields that older records lack."""
    match more:
        case [written, effective, driver, machine] if is_number(written) and is_number(effective):
            about = (name if name != _NONE else "" for name in (driver, machine))
            times = (record.wall, record.last_ping, record.alive_at, int(written), int(effective))
            return ResetRecord(record.boot_id, record.state, *times, *about)
        case _:
            return record


_TESTED_KIND = "nodemend-tested-watchdog"
_SLACK = 1_500_000_000
"""Nanoseconds. The last ping has the time of the lease read before it, and the last rewrite is a moment
before the reset."""


class ObservedReset(SmallValue):
    """`driver` resets `where`: the token for a machine, or a boot ID."""

    where: str
    driver: str


def evaluate_reset(record: ResetRecord) -> ObservedReset | None:
    """Return what a record shows; None if something else may have ended the boot, or facts are missing."""
    if record.state == FENCE_NOW or not record.machine or not record.driver or not record.written:
        return None
    if not record.written - _SLACK <= record.lived_on <= record.effective + _SLACK:
        return None
    return ObservedReset(record.machine, record.driver)


def format_tested(tested: ObservedReset) -> bytes:
    return sealed(_TESTED_KIND, tested.where, tested.driver)


def is_tested(line: bytes, where: str, driver: str) -> bool:
    """True if the line has this driver, by the name that it gives itself, for this machine or boot."""
    return bool(where and driver) and unsealed(_TESTED_KIND, line, 2) == [where, alphanumeric(driver)]


def driver_in(line: bytes, where: str) -> str:
    """Return the driver that the line has for this machine or boot; empty if it has no such driver."""
    match unsealed(_TESTED_KIND, line, 2):
        case [place, driver] if where and place == where:
            return driver
        case _:
            return ""
