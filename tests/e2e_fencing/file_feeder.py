"""The shipped feeder, with a file in the place of the watchdog: a line for each ping, with its time.

`python -m tests.e2e_fencing.file_feeder ...`, with the feeder's own arguments.
"""

import sys
import time

from nodemend.agent.feeder import words as w
from nodemend.agent.feeder.device_shell import WatchdogShell
from nodemend.agent.feeder.feeder_shell import FeederShell
from nodemend.agent.feeder.run_shell import run

IDENTITY = "file"
DRILL = ("--drill", f"{IDENTITY},5,9063")
"""So that W is known of a driver that nobody has measured: 9.063 s, for the 5 that are written to it."""


PHYSICAL = ("--machine", "physical", *DRILL)


class FileWatchdog(WatchdogShell):
    """Opening, setting and closing are pings, as with the kernel's own."""

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


class FileFeeder(FeederShell):
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
