"""`python -m tests.e2e.guests`: three guests are the nodes of a cluster; one of them is cut off.

Each is a Linux kernel with its own watchdog, in which the shipped units, the shipped image and the pods of
the shipped DaemonSet run. The control plane, its controllers and Nodemend are the real programs, on the host.
Needs root: guests are on a bridge.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from guest.image import GuestError
from installed.programs import mend
from tests.e2e.guests.cluster import Cluster, open_cluster
from tests.e2e.guests.history import History, Verdict, WrongError

_BEGAN: Final = time.monotonic()


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that guests and their bridge are removed, too.
    with tempfile.TemporaryDirectory(prefix="nodemend-guests-") as folder:
        try:
            with open_cluster(Path(folder)) as cluster:
                return _tell(cluster)
        except GuestError as error:
            print(error, file=sys.stderr)
            return 1


def _tell(cluster: Cluster) -> int:
    history = History(cluster, _say)
    try:
        reported = history.play()
    except (WrongError, TimeoutError) as error:
        for machine in cluster.machines.all.values():
            print(f"{machine.name}:", *(f"  {text}" for _, text in machine.lines[-40:]), sep="\n")
        print(f"fencing-guests: {error}")
        return 1
    shown = mend(cluster.plane.kubeconfig, "timeline", history.node)
    print(shown.stdout + shown.stderr)
    print(_summary(reported))
    return shown.returncode


def _summary(reported: Verdict) -> str:
    return (
        "fencing-guests: cut off at 0 s, reset by its own watchdog at "
        f"{reported.reset:.1f} s (its last write at"
        f" {reported.last_write:.1f} s), released at {reported.release:.1f} s, its pod writes elsewhere at"
        f" {reported.first_write:.1f} s; back {reported.back:.1f} s after its cable; 0 wrong"
    )


def _say(line: str) -> None:
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
