"""A pod's only process: it writes, for as long as it runs, on a line that no cut of the network cuts."""

import sys
import time
from pathlib import Path

sys.path.insert(0, "/stage")

from guest.inside import tell

WRITES_EVERY = 0.25


def main(pod: str) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    while True:
        tell("WRITE", boot, pod)
        time.sleep(WRITES_EVERY)


if __name__ == "__main__":
    main(sys.argv[1])
