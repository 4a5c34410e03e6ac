"""The guest's first program: unpacks the host program as a node does, and plays the requested story.

It waits for `STORY PHASE` on the second serial line; the guest is saved there, and every run starts there.
"""

import importlib
import os
import signal
import sys
from pathlib import Path

HOST = "/run/nodemend/host"
STAGE = "/stage"
PYTHON = ("/usr/bin/python3", "-I", "-S")
sys.path.insert(0, STAGE)

from guest.inside import become, child, tell  # noqa: E402 - it is where the line before says


def main() -> None:
    if os.getpid() != 1:
        raise SystemExit("this is the first program of a guest, and must not run anywhere else")
    Path("/run/nodemend").mkdir()
    pid = child(lambda: become([*PYTHON, f"{STAGE}/nodemend-host.pyz", "unpack", HOST]))
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("the host's program cannot be unpacked")
    sys.path.insert(1, HOST)  # Not before the folder exists, since Python caches missing import paths.
    stories = importlib.import_module("tests.e2e.watchdog.guest.stories")
    stage = importlib.import_module("tests.e2e.watchdog.guest.environment")
    with Path("/dev/ttyS1").open() as orders:
        tell("READY")  # Only now: output before the line is open is lost.
        name, phase = orders.readline().split()
    getattr(stories, name)(stage.Stage(float(phase)))
    tell("OVER")
    signal.pause()


if __name__ == "__main__":
    main()
