"""`python chassis_control.py SOCKET get|set|check WHAT...`: what ipmi_sim calls to read or switch a machine.

Carries the question to the chassis, which is in another process, and its answer back.
"""

import socket
import sys

SECONDS = 10.0


def main() -> int:
    with socket.socket(socket.AF_UNIX) as chassis:
        chassis.settimeout(SECONDS)
        chassis.connect(sys.argv[1])
        chassis.sendall(f"{' '.join(sys.argv[2:])}\n".encode())
        answer = chassis.makefile().read()
    refused = answer.startswith("refused")
    if not refused:
        sys.stdout.write(answer)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
