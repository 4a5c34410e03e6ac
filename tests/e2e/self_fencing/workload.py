"""`python workload.py REGISTER NODE BOOT POD`: record that the pod runs, until killed."""

import os
import sys
import time

SECONDS_BETWEEN_WRITES = 0.05


def main() -> None:
    register = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    owner = " ".join(sys.argv[2:])
    while True:
        # A single write to a file opened for appending is atomic, even with other writers.
        os.write(register, f"{time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {owner}\n".encode())
        time.sleep(SECONDS_BETWEEN_WRITES)


if __name__ == "__main__":
    main()
