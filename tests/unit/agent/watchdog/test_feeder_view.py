"""The agent publishes no promise of the watchdog while a permit to disarm exists."""

import time
from pathlib import Path

import pytest

from nodemend.agent.files import FeederFile
from nodemend.agent.watchdog.model import Armed, Device, FeederStatus, format_status
from nodemend.agent.watchdog.records import format_disarm_permission
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.watchdog_drivers import SECOND, Software

BOOT = "boot-1"


def view(folder: Path, disarm_permission: bytes | None) -> FeederFile:
    """The view of a feeder that reported an armed watchdog before it read any permit."""
    device = Device("softdog", 30, magic_close=True, nowayout=False)
    pinged = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    lease = FeedLease(BOOT)
    status = FeederStatus(Armed(), "", lease, False, 35 * SECOND, device, Software(), 30 * SECOND, pinged)
    (folder / "status").write_bytes(format_status(status, BOOT, []))
    if disarm_permission is not None:
        (folder / "permit").write_bytes(disarm_permission)
    return FeederFile(str(folder / "status"), str(folder / "permit"), BOOT, str(folder / "tested"))


@pytest.mark.parametrize(
    "disarm_permission", [None, b"", b"nodemend-disarm", format_disarm_permission("boot-2")]
)
def test_a_watchdog_that_runs_is_published_as_what_it_is(
    tmp_path: Path, disarm_permission: bytes | None
) -> None:
    reported = view(tmp_path, disarm_permission).report()

    assert (reported.watchdog.class_, reported.watchdog.why, reported.longest_lease) == ("software", "", 35.0)


def test_with_a_permit_of_this_boot_no_promise_holds_regardless_of_the_feeder(tmp_path: Path) -> None:
    """The feeder may disarm at any moment from then on, and reports it only afterwards."""
    reported = view(tmp_path, format_disarm_permission(BOOT)).report()

    assert (reported.watchdog.class_, reported.longest_lease) == ("unsupported", 35.0)
    assert reported.watchdog.why
