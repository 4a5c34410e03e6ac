"""What the feeder needs of the kernel: memory that stays, the processor in time, and to be the last to go."""

import ctypes
import os

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_MADV_DONTNEED = 4
_PRIORITY = 90
"""Above whatever a workload may have, below the kernel's own threads of 99."""
_NEVER_KILLED = b"-1000"
_SIGSET_SIZE = 128
_SIG_BLOCK, _SIG_UNBLOCK = 0, 1
SIGINT, SIGTERM = 2, 15
"""By number: the module `signal` makes enums of them, and those cost 0.7 MB."""
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


def take_footing(oom_file: str | None) -> list[str]:
    """Ask for all of it; the names of what was refused. A feeder without is weaker, and says so."""
    lacking = []
    forget_the_start()
    # On fault: what was touched once stays. Locking the whole mapped interpreter would cost 5 MB for code
    # that is never run; the loop touches what it needs in its first rounds, before anything depends on it.
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
    """Give back what only starting up has touched: the interpreter's compiler, what it read, what it freed.

    Before memory is locked, or it would stay for ever. A page of code that is run again comes back, and is
    locked then. That is worth a megabyte.
    """
    if hasattr(_libc, "malloc_trim"):  # Not every C library has it.
        _libc.malloc_trim(0)
    for line in _mappings():
        place, rights, _, device, *_ = line.split()
        # Code of a file is never written, so the kernel can always read it again. What is only read may well
        # have been written before: the linker's tables.
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


def leave_footing() -> None:
    """In a child, before it becomes another program: an ordinary process again."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    _libc.sigprocmask(_SIG_UNBLOCK, _signals(), None)


def stop_signals() -> int:
    """A descriptor that becomes readable when we are asked to end. These signals do nothing else then."""
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
    """Ask the kernel to reset this machine at once, without writing anything out. Returns if it did not."""
    return _written(trigger, b"b")
