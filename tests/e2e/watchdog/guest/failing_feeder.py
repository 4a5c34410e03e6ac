"""The shipped feeder, which fails at its twelfth look at the lease."""

import sys

sys.path.insert(0, "/run/nodemend/host")

from nodemend.agent.watchdog import main
from nodemend.agent.watchdog.model import FilesRead


class FailingFeeder(main.FeederRunner):
    reads = 0

    def _read_files(self) -> FilesRead:
        self.reads += 1
        if self.reads >= 12:
            raise RuntimeError("a fault that nobody foresaw")
        return super()._read_files()


sys.exit(main.run(sys.argv[2:], FailingFeeder))
