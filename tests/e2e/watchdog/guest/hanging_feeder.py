"""The shipped feeder, whose loop hangs at its twelfth look at the lease."""

import sys
import time

sys.path.insert(0, "/run/nodemend/host")

from nodemend.agent.watchdog import main
from nodemend.agent.watchdog.model import FilesRead


class HangingFeeder(main.FeederRunner):
    reads = 0

    def _read_files(self) -> FilesRead:
        self.reads += 1
        while self.reads >= 12:
            time.sleep(1)
        return super()._read_files()


sys.exit(main.run(sys.argv[2:], HangingFeeder))
