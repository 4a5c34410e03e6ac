"""The shipped feeder, which fails at its twelfth look at the lease."""

import sys

sys.path.insert(0, "/run/nodemend/host")

from nodemend.agent.feeder import feeder_shell, run_shell
from nodemend.agent.feeder.words import Looked


class FailingFeeder(feeder_shell.FeederShell):
    looks = 0

    def _look(self) -> Looked:
        self.looks += 1
        if self.looks >= 12:
            raise RuntimeError("a fault that nobody foresaw")
        return super()._look()


sys.exit(run_shell.run(sys.argv[2:], FailingFeeder))
