"""The lock by which there is one feeder at a time. The kernel gives it back when its holder dies."""

import fcntl
import os

_ABOVE_ALL_OTHERS = 200
"""A process that dies has its descriptors closed from the lowest up. Closing the watchdog pings it, and who
takes the lock next looks at the lease first: so the lock must go after the watchdog, not before."""


def take_lock(path: str) -> bool:
    """Whether it is ours now, until we die: its descriptor is never closed. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE_ALL_OTHERS)
    os.close(descriptor)
    return True
