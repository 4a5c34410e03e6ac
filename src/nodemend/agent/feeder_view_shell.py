"""What the feeder tells, from the file in which it does."""

import time
from dataclasses import dataclass
from typing import Final

import msgspec

from nodemend.agent.feeder.record_shell import read_beginning, read_permit
from nodemend.agent.feeder.status_text import parse_status
from nodemend.agent.feeder.worth import SECOND, judge_worth, longest_lease
from nodemend.agent.last_words.folder_shell import read_reset, read_tested
from nodemend.agent.last_words.reset_record import CONDEMNED
from nodemend.agent.memory import stood_down
from nodemend.agent.ports import FeederTold
from nodemend.api.agent_lease import LastReset, WatchdogReport

STATUS: Final = "feeder.status"
GATE: Final = "gate"
"""In the same folder: what the boot gate left when it opened."""
TESTED: Final = "tested-watchdog"
LAST_RESET: Final = "last-reset"
"""And there: how the last boot ended that was not fed any more."""


@dataclass(frozen=True, slots=True)
class FeederFile:
    """The Feeder port as production has it."""

    path: str
    permit: str
    """While this is there, nothing rests on the watchdog, whatever the feeder has told before it saw it."""
    boot_id: str
    tested: str
    """What the boot gate left of a watchdog that was seen to reset this machine."""

    def told(self) -> FeederTold:
        try:
            status = parse_status(read_beginning(self.path))
        except OSError:
            status = {}
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        tested = read_tested(self.tested, self.boot_id, status.get("driver", ""))
        worth = judge_worth(status, self.boot_id, now, tested)
        watchdog = WatchdogReport(
            class_=worth.kind,
            driver=worth.driver,
            written=worth.written,
            effective=worth.effective,
            why=worth.why,
        )
        if read_permit(self.permit, self.boot_id):
            watchdog = stood_down(watchdog)
        return FeederTold(watchdog, longest_lease(status, self.boot_id))


def last_reset(path: str) -> LastReset | None:
    """As the boot gate left it. None also for one that would make the whole report unreadable."""
    record = read_reset(path)
    if record is None:
        return None
    told = {
        "bootID": record.boot_id,
        "condemned": record.state == CONDEMNED,
        "livedOn": record.lived_on / SECOND,
    }
    try:
        return msgspec.convert(told, LastReset)
    except msgspec.ValidationError:
        return None
