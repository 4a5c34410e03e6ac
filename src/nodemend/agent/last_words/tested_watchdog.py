"""Whether this machine was seen to be reset by its watchdog alone, and the record of that.

A driver that loads may drive a chip that is wired to nothing, or that was told to do nothing. Only a reset
shows that it resets: one that nobody asked the kernel for, after the time that the device takes.
"""

from nodemend.agent.feeder.records import sealed, unsealed
from nodemend.agent.last_words.reset_record import CONDEMNED, ResetRecord, word_of
from nodemend.decide.small_value import SmallValue

_KIND = "nodemend-tested-watchdog"
_SLACK = 1_500_000_000
"""The last ping is dated to the look before it, and the last sign of life a moment before the end."""


class SeenToReset(SmallValue):
    """On `where`, the word for a machine or for a boot, `driver` resets."""

    where: str
    driver: str


def judge_reset(record: ResetRecord) -> SeenToReset | None:
    """What the record of a boot shows: None where something else may have ended it, or it says too little."""
    if record.state == CONDEMNED or not record.machine or not record.driver or not record.written:
        return None
    if not record.written - _SLACK <= record.lived_on <= record.effective + _SLACK:
        return None
    return SeenToReset(record.machine, record.driver)


def format_tested(tested: SeenToReset) -> bytes:
    return sealed(_KIND, tested.where, tested.driver)


def is_tested(line: bytes, where: str, driver: str) -> bool:
    """Whether the line says so of this driver, by the name that it gives itself, at this place."""
    return bool(where and driver) and unsealed(_KIND, line, 2) == [where, word_of(driver)]


def driver_in(line: bytes, where: str) -> str:
    """Which driver the line names for this place; empty for none."""
    match unsealed(_KIND, line, 2):
        case [place, driver] if where and place == where:
            return driver
        case _:
            return ""
