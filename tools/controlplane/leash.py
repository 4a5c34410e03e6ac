"""`python leash.py PARENT PROGRAM ARGUMENT...` becomes PROGRAM, which the kernel kills when PARENT dies.

A stub that replaces itself: code between fork and exec (preexec_fn) may deadlock where there are threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(f"the parent of {program} was gone before it began")
    os.execv(program, sys.argv[2:])  # noqa: S606 - becoming the program is the purpose


if __name__ == "__main__":
    main()
