"""The shipped feeder, with a file as the watchdog: a line for each ping, with its time.

`python -m tests.e2e.self_fencing.file_feeder ...`, with the feeder's own arguments.
"""

import sys
import time

from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.device import WatchdogDevice
from nodemend.agent.watchdog.main import FeederRunner, run

IDENTITY = "file"
DRILL = ("--drill", f"{IDENTITY},5,9063")
"""Sets W of a driver that was never measured: 9.063 s, for the written timeout 5."""


PHYSICAL = ("--machine", "physical", *DRILL)


class FileWatchdog(WatchdogDevice):
    """Opening, setting and closing are pings, as with the kernel's watchdogs."""

    def __init__(self, path: str) -> None:
        super().__init__(path, None)
        self._path = path
        self._seconds = 60

    def open(self) -> w.Device:
        self.ping()
        return w.Device(IDENTITY, self._seconds, magic_close=True, nowayout=True)

    def set_timeout(self, seconds: int) -> int:
        self._seconds = seconds
        self.ping()
        return seconds

    def ping(self) -> None:
        with open(self._path, "a") as file:  # noqa: PTH123
            file.write(f"{time.clock_gettime_ns(time.CLOCK_BOOTTIME)}\n")


class FileFeeder(FeederRunner):
    def __init__(
        self,
        rules: w.FeederRules,
        paths: dict[str, str],
        check: tuple[str, ...],
        recorder: tuple[str, ...] = (),
    ) -> None:
        super().__init__(rules, paths, check, recorder)
        self._device = FileWatchdog(paths["device"])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], FileFeeder))
