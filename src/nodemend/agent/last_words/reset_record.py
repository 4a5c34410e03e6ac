"""The record of one boot that ended itself: which, when, how, and for how long it lived without a ping.

A line in a file of its own, named by the boot. It is written anew every moment until the machine is reset, so
that what it says last is how long the reset took, less that moment.
"""

from nodemend.agent.feeder.records import RefusedRecord, is_number, sealed, unsealed
from nodemend.decide.small_value import SmallValue

_KIND = "nodemend-reset"
CONDEMNED = "condemned"
NOT_FED = ("starving", CONDEMNED)
"""States of the feeder in which it does not feed. In another it has begun again, or has ended in order."""


class ResetRecord(SmallValue):
    """`wall` is in seconds since 1970; the others are nanoseconds of that boot's CLOCK_BOOTTIME."""

    boot_id: str
    state: str
    wall: int
    last_ping: int
    alive_at: int

    @property
    def lived_on(self) -> int:
        """From the last ping to the last sign of life."""
        return max(0, self.alive_at - self.last_ping)


def record_of(status: dict[str, str], boot_id: str, wall: int, now: int) -> ResetRecord | None:
    """By the feeder's status; None where it feeds, has ended, or is another boot's."""
    state, last_ping = status.get("state", ""), status.get("last-ping", "")
    if status.get("boot") != boot_id or state not in NOT_FED:
        return None
    return ResetRecord(boot_id, state, wall, int(last_ping) if is_number(last_ping) else now, now)


def format_reset(record: ResetRecord) -> bytes:
    times = (str(time) for time in (record.wall, record.last_ping, record.alive_at))
    return sealed(_KIND, record.boot_id, record.state, *times)


def parse_reset(line: bytes) -> ResetRecord | RefusedRecord:
    words = unsealed(_KIND, line)
    if isinstance(words, RefusedRecord):
        return words
    match words:
        case [boot_id, state, *times] if state in NOT_FED and all(map(is_number, times[:3])) and times[2:]:
            return ResetRecord(boot_id, state, *map(int, times[:3]))
        case _:
            return RefusedRecord("it has other words than the record of a reset")
