"""What the agent publishes of the watchdog: nothing rests on it while there is a permit to disarm."""

import time
from pathlib import Path

import pytest

from nodemend.agent.feeder.records import format_permit
from nodemend.agent.feeder.status_text import format_status
from nodemend.agent.feeder.words import Armed, Device, Status
from nodemend.agent.feeder_view_shell import FeederFile
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.watchdog_class import SECOND, Software

BOOT = "boot-1"


def view(folder: Path, permit: bytes | None) -> FeederFile:
    """Of a feeder that has told, before it saw any permit, that its watchdog is armed."""
    device = Device("softdog", 30, magic_close=True, nowayout=False)
    pinged = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    lease = FeedLease(BOOT)
    status = Status(Armed(), "", lease, False, 35 * SECOND, device, Software(), 30 * SECOND, pinged)
    (folder / "status").write_bytes(format_status(status, BOOT, []))
    if permit is not None:
        (folder / "permit").write_bytes(permit)
    return FeederFile(str(folder / "status"), str(folder / "permit"), BOOT, str(folder / "tested"))


@pytest.mark.parametrize("permit", [None, b"", b"nodemend-disarm", format_permit("boot-2")])
def test_a_watchdog_that_runs_is_published_as_what_it_is(tmp_path: Path, permit: bytes | None) -> None:
    told = view(tmp_path, permit).told()

    assert (told.watchdog.class_, told.watchdog.why, told.longest_lease) == ("software", "", 35.0)


def test_with_a_permit_of_this_boot_nothing_rests_on_it_whatever_the_feeder_told(tmp_path: Path) -> None:
    """The feeder may disarm at any moment from then on, and tells of it only afterwards."""
    told = view(tmp_path, format_permit(BOOT)).told()

    assert (told.watchdog.class_, told.longest_lease) == ("unsupported", 35.0)
    assert told.watchdog.why
