"""Facts about a watchdog as the kernel reports them."""

import errno
import fcntl
import struct
import sys
from pathlib import Path

import pytest

from nodemend.agent.watchdog.device import WatchdogDevice
from nodemend.agent.watchdog.model import Device

SETTIMEOUT, MAGICCLOSE, ALARMONLY = 0x0080, 0x0100, 0x0400
"""WDIOF_* of linux/watchdog.h."""


@pytest.mark.attack("K3")
@pytest.mark.parametrize(
    ("options", "magic_close", "alarm_only"),
    [
        (SETTIMEOUT, False, False),
        (SETTIMEOUT | MAGICCLOSE, True, False),
        (ALARMONLY, False, True),
        (MAGICCLOSE | ALARMONLY, True, True),
    ],
)
def test_the_device_reports_whether_it_only_raises_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: int, magic_close: bool, alarm_only: bool
) -> None:
    def ioctl(_descriptor: int, _request: int, answer: bytearray) -> int:
        reported = (
            struct.pack("=I", 30) if len(answer) == 4 else struct.pack("=II32s", options, 1, b"iTCO_wdt")
        )
        answer[:] = reported
        return 0

    (tmp_path / "watchdog").touch()
    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    found = WatchdogDevice(str(tmp_path / "watchdog"), None).open()

    assert found == Device("iTCO_wdt", 30, magic_close, None, alarm_only)


SET_TIMEOUT = 0xC0045706
"""WDIOC_SETTIMEOUT."""


@pytest.mark.parametrize("refuses", [False, True])
def test_the_timeout_that_the_driver_set_counts_not_the_requested_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    """The device may round the timeout or keep its old one.

    A manager that assumes the shorter one releases too soon.
    """
    asked: list[int] = []

    def ioctl(_descriptor: int, request: int, answer: bytearray) -> int:
        if request == SET_TIMEOUT:
            asked.append(int.from_bytes(answer, sys.byteorder))
            if refuses:
                raise OSError(errno.EOPNOTSUPP, "not supported")
            return 0
        answer[:] = struct.pack("=I", 16) if len(answer) == 4 else struct.pack("=II32s", 0, 1, b"iTCO_wdt")
        return 0

    (tmp_path / "watchdog").touch()
    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    watchdog = WatchdogDevice(str(tmp_path / "watchdog"), None)
    watchdog.open()

    assert watchdog.set_timeout(9) == 16
    assert asked == [9]
