"""The feeder's system calls: the watchdog device, the protection of its process, and its lock.

The process locks its memory, runs with real-time priority, and is not killed by the OOM killer. The lock
allows one feeder at a time; the kernel releases it when its holder dies.
"""

import ctypes
import fcntl
import os
import sys

from nodemend.agent.watchdog.model import Device

# From linux/watchdog.h, for architectures that number ioctls as x86 and Arm do.
_GET_SUPPORT = 0x80285700
_SET_TIMEOUT = 0xC0045706
_GET_TIMEOUT = 0x80045707
_INFO_SIZE, _IDENTITY_AT = 40, 8
_MAGIC_CLOSE, _ALARM_ONLY = 0x0100, 0x0400
_PING, _MAGIC = b"\0", b"V"


class WatchdogDevice:
    """One watchdog, by its path. The constructor does not touch it, because opening is a ping."""

    def __init__(self, path: str, sysfs: str | None) -> None:
        self._path = path
        self._sysfs = sysfs
        self._descriptor = -1

    def open(self) -> Device:
        """Open and describe the device. Raises OSError with the device closed, also if it is no watchdog."""
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            return self._describe()
        except OSError:
            os.close(self._descriptor)
            raise

    def _describe(self) -> Device:
        info = bytearray(_INFO_SIZE)
        fcntl.ioctl(self._descriptor, _GET_SUPPORT, info)
        options = int.from_bytes(info[:4], sys.byteorder)
        identity = bytes(info[_IDENTITY_AT:]).partition(b"\0")[0].decode("ascii", "replace")
        magic_close, alarm_only = bool(options & _MAGIC_CLOSE), bool(options & _ALARM_ONLY)
        return Device(identity, self._timeout(), magic_close, self._nowayout(), alarm_only)

    def set_timeout(self, seconds: int) -> int:
        """Set the timeout; return the one that the device then reports. Raises OSError."""
        asked = bytearray(seconds.to_bytes(4, sys.byteorder))
        try:
            fcntl.ioctl(self._descriptor, _SET_TIMEOUT, asked)
        except OSError:
            # The driver keeps its own timeout, as it may round one: the reported value counts.
            return self._timeout()
        return self._timeout()

    def _timeout(self) -> int:
        answer = bytearray(4)
        fcntl.ioctl(self._descriptor, _GET_TIMEOUT, answer)
        return int.from_bytes(answer, sys.byteorder)

    def ping(self) -> None:
        """Ping the device. Raises OSError."""
        os.write(self._descriptor, _PING)

    def disarm(self) -> bool:
        """Close with the magic byte; True if the kernel reports the device inactive. Raises OSError."""
        os.write(self._descriptor, _MAGIC)
        os.close(self._descriptor)
        return self._read_attribute("state") == "inactive"

    def _nowayout(self) -> bool | None:
        reported = self._read_attribute("nowayout")
        return None if reported is None else reported != "0"

    def _read_attribute(self, name: str) -> str | None:
        """Return the device's sysfs attribute of this name; None if it cannot be read."""
        if self._sysfs is None:
            return None
        try:
            descriptor = os.open(f"{self._sysfs}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return os.read(descriptor, 64).decode("ascii", "replace").strip()
        except OSError:
            return None
        finally:
            os.close(descriptor)


_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_MADV_DONTNEED = 4
_PRIORITY = 90
"""Above any workload's priority, below the kernel's own threads at 99."""
_NEVER_KILLED = b"-1000"
_SIGSET_SIZE = 128
_SIG_BLOCK, _SIG_UNBLOCK = 0, 1
SIGINT, SIGTERM = 2, 15
"""As numbers: the module `signal` makes enums of them, which cost 0.7 MB."""
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


def harden_process(oom_file: str | None) -> list[str]:
    """Request each protection; return the names of the refused ones, without which the feeder runs."""
    lacking = []
    forget_the_start()
    # MCL_ONFAULT locks pages once they are touched. Locking the whole mapped interpreter would cost 5 MB for
    # code that never runs; the loop touches the pages that it needs in its first rounds, before anything
    # depends on it.
    if _libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT):
        lacking.append("locked-memory")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        lacking.append("real-time-priority")
    if oom_file is None or not _written(oom_file, _NEVER_KILLED):
        lacking.append("oom-protection")
    return lacking


def forget_the_start() -> None:
    """Release memory that only startup used: the interpreter's compiler, input, freed blocks.

    Must run before memory is locked, which would keep it permanently. A page of code that runs again is
    loaded again and locked then. Saves a megabyte.
    """
    if hasattr(_libc, "malloc_trim"):  # Not every C library has it.
        _libc.malloc_trim(0)
    for line in _mappings():
        place, rights, _, device, *_ = line.split()
        # The kernel can always read a file's code again, because code is never written. Read-only data may
        # have been written before, such as the linker's tables.
        if rights == b"r-xp" and device != b"00:00":
            first, last = (int(number, 16) for number in place.split(b"-"))
            _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_DONTNEED)


def _mappings() -> list[bytes]:
    descriptor = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while more := os.read(descriptor, 65536):
            content += more
        return content.splitlines()
    finally:
        os.close(descriptor)


def restore_process() -> None:
    """Make a child an ordinary process again, before it executes another program."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    _libc.sigprocmask(_SIG_UNBLOCK, _signals(), None)


def stop_signals() -> int:
    """Block the stop signals; return a descriptor that becomes readable on one. Raises OSError."""
    mask = _signals()
    _libc.sigprocmask(_SIG_BLOCK, mask, None)
    descriptor: int = _libc.signalfd(-1, mask, _NONBLOCK_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    return descriptor


def _signals() -> ctypes.Array[ctypes.c_char]:
    mask = ctypes.create_string_buffer(_SIGSET_SIZE)
    _libc.sigemptyset(mask)
    for number in (SIGINT, SIGTERM):
        _libc.sigaddset(mask, number)
    return mask


def _written(path: str, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(descriptor, content) == len(content)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def try_reboot(trigger: str) -> bool:
    """Request an immediate reset from the kernel, without a sync. Returns if the machine was not reset."""
    return _written(trigger, b"b")


_ABOVE_ALL_OTHERS = 200
"""The kernel closes the descriptors of a dying process in ascending order. Closing the watchdog pings it, and
the next holder of the lock reads the lease first, so the lock must be released after the watchdog, not
before."""


def take_lock(path: str) -> bool:
    """Take the lock until this process dies; True if taken. Its descriptor stays open. Raises OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE_ALL_OTHERS)
    os.close(descriptor)
    return True
