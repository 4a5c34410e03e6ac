"""`python machine.py NAME BOOT FOLDER`: a machine that is on, in one of its boots.

It runs a workload for each file in FOLDER/wanted, which is named like the pod and contains the path of a
register: it writes to that register many times a second. A workload stops when its file is removed, which
does not happen on a machine that is cut off from the cluster; FOLDER/ended then has a file of its name. The
machine ends when it is killed.
"""

import os
import sys
import time
from pathlib import Path

SECONDS_BETWEEN_WRITES = 0.05


def main() -> None:
    name, boot, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    running: dict[str, int] = {}
    while True:
        wanted = {order.name: order for order in (folder / "wanted").iterdir()}
        for pod in running.keys() - wanted.keys():
            os.close(running.pop(pod))
            (folder / "ended" / pod).touch()
        for pod in wanted.keys() - running.keys():
            try:
                running[pod] = os.open(wanted[pod].read_text(), os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                continue  # Removed just now.
        for pod, register in running.items():
            # A single write to a file opened for appending is atomic, even with other writers.
            os.write(register, f"{time.time_ns()} {name} {boot} {pod}\n".encode())
        time.sleep(SECONDS_BETWEEN_WRITES)


if __name__ == "__main__":
    main()
