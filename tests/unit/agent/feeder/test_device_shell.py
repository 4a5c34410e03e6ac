"""What a watchdog says of itself, as the kernel hands it over."""

import fcntl
import struct
from pathlib import Path

import pytest

from nodemend.agent.feeder.device_shell import WatchdogShell
from nodemend.agent.feeder.words import Device

SETTIMEOUT, MAGICCLOSE, ALARMONLY = 0x0080, 0x0100, 0x0400
"""Of linux/watchdog.h, WDIOF_*."""


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
def test_it_tells_whether_it_only_raises_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: int, magic_close: bool, alarm_only: bool
) -> None:
    def ioctl(_descriptor: int, _request: int, answer: bytearray) -> int:
        told = struct.pack("=I", 30) if len(answer) == 4 else struct.pack("=II32s", options, 1, b"iTCO_wdt")
        answer[:] = told
        return 0

    (tmp_path / "watchdog").touch()
    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    found = WatchdogShell(str(tmp_path / "watchdog"), None).open()

    assert found == Device("iTCO_wdt", 30, magic_close, None, alarm_only)
