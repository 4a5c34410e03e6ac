"""The record of one boot that ended itself: which, when, how, and for how long it lived without a ping.

A line in a file of its own, named by the boot. It is written anew every moment until the machine is reset, so
that what it says last is how long the reset took, less that moment.
"""

from nodemend.agent.feeder.records import RefusedRecord, is_number, sealed, unsealed
from nodemend.agent.feeder.worth import SECOND
from nodemend.decide.small_value import SmallValue

_KIND = "nodemend-reset"
_NONE = "-"
CONDEMNED = "condemned"
"""Its feeder asked the kernel for a reboot: a marker, or a gap between two pings, was to end it at once."""
_STARVING = "starving"
NOT_FED = (_STARVING, CONDEMNED)
"""States of the feeder in which it does not feed. In another it has begun again, or has ended in order."""


class ResetRecord(SmallValue):
    """`wall` is in seconds since 1970; the others are nanoseconds of that boot's CLOCK_BOOTTIME."""

    boot_id: str
    state: str
    wall: int
    last_ping: int
    alive_at: int
    written: int = 0
    effective: int = 0
    """What the device was told, and the time to reset that follows from it; 0 in older records."""
    driver: str = ""
    machine: str = ""
    """Words for the driver and for the machine; empty where they are not known."""

    @property
    def lived_on(self) -> int:
        """From the last ping to the last sign of life."""
        return max(0, self.alive_at - self.last_ping)


def word_of(text: str) -> str:
    """One word, for a line of words."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in text[:64])


def record_of(
    status: dict[str, str], boot_id: str, wall: int, now: int, machine: str = ""
) -> ResetRecord | None:
    """By the feeder's status; None where it feeds, has ended, or is another boot's."""
    state, last_ping = status.get("state", ""), status.get("last-ping", "")
    if status.get("boot") != boot_id or state not in NOT_FED:
        return None
    if status.get("for-good") == "yes":
        state = CONDEMNED
    written, effective = status.get("written-seconds", ""), status.get("effective", "")
    return ResetRecord(
        boot_id,
        state,
        wall,
        int(last_ping) if is_number(last_ping) else now,
        now,
        int(written) * SECOND if is_number(written) else 0,
        int(effective) if is_number(effective) else 0,
        word_of(status.get("driver", "")),
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
    """With what older records do not say."""
    match more:
        case [written, effective, driver, machine] if is_number(written) and is_number(effective):
            about = (name if name != _NONE else "" for name in (driver, machine))
            times = (record.wall, record.last_ping, record.alive_at, int(written), int(effective))
            return ResetRecord(record.boot_id, record.state, *times, *about)
        case _:
            return record
