"""`python workload.py REGISTER NODE BOOT POD`: has a workload, and writes so, until killed."""

import os
import sys
import time

SECONDS_BETWEEN_WRITES = 0.05


def main() -> None:
    register = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    owner = " ".join(sys.argv[2:])
    while True:
        # One write to a file opened for appending is whole, whoever else writes.
        os.write(register, f"{time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {owner}\n".encode())
        time.sleep(SECONDS_BETWEEN_WRITES)


if __name__ == "__main__":
    main()
