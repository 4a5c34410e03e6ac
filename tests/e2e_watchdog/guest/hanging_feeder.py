"""The shipped feeder, whose loop hangs at its twelfth look at the lease."""

import sys
import time

sys.path.insert(0, "/run/nodemend/host")

from nodemend.agent.feeder import feeder_shell, run_shell
from nodemend.agent.feeder.words import Looked


class HangingFeeder(feeder_shell.FeederShell):
    looks = 0

    def _look(self) -> Looked:
        self.looks += 1
        while self.looks >= 12:
            time.sleep(1)
        return super()._look()


sys.exit(run_shell.run(sys.argv[2:], HangingFeeder))
