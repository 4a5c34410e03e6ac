"""What the feeder starts as processes of their own, and does not wait for: checks, and a record for later."""

import os
import time

from nodemend.agent.api_check import exit_codes
from nodemend.agent.feeder import footing_shell
from nodemend.agent.feeder import words as w

_LONGEST_CHECK = 10_000_000_000
"""A check ends itself long before that; one that hangs in the kernel is given up."""
_ANSWERS: dict[int, w.Clean | w.Marked | w.OtherMarker] = {
    exit_codes.CLEAN: w.Clean(),
    exit_codes.MARKED: w.Marked(),
    # No Lease: this node has published no watchdog and no times, so nobody waits for its reset, and there is
    # nothing that a marker could be put on. Who deletes a marked Lease is stopped by the admission policy;
    # and the manager releases only while it reads the marker that it wrote.
    exit_codes.ABSENT: w.Clean(),
    # A marker for another boot neither ends this one nor lets it go on. In a drill the lease runs out: a
    # reboot that the kernel makes would be timed instead.
    exit_codes.MARKED_FOR_ANOTHER_BOOT: w.OtherMarker(),
    exit_codes.MARKED_FOR_DRILL: w.OtherMarker(),
    # The others are no answer, as for the agent.
}


def boottime() -> int:
    """Goes on while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def raw_time() -> int:
    """Runs as the machine's oscillator does: nobody slews it. Stands still while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Check:
    """A child process that asks the API server. `asked_at` is before it was started. Raises OSError."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.asked_at = boottime()
        # Not posix_spawn, which waits until the program is loaded: from a disk that hangs that takes for
        # ever.
        self._pid = os.fork()
        if self._pid == 0:
            _become(command)
        try:
            self.descriptor = os.pidfd_open(self._pid)
        except OSError:
            os.kill(self._pid, 9)
            os.waitpid(self._pid, 0)
            raise

    def answer(self) -> w.Answered:
        """Once the descriptor is readable."""
        os.close(self.descriptor)
        _, ended = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(ended)
        return w.Answered(_ANSWERS.get(code, w.CheckFailed(f"the check ended with {code}")), self.asked_at)

    def end_if_late(self, now: int) -> None:
        if now - self.asked_at > _LONGEST_CHECK:
            os.kill(self._pid, 9)


class Recorder:
    """A process that keeps a record while the device starves, and ends by itself. One at a time."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._pid = 0

    def start(self) -> str:
        """Why there is none; empty where there is, and where nobody wants one."""
        try:
            if not self._command or (self._pid and os.waitpid(self._pid, os.WNOHANG) == (0, 0)):
                return ""
            self._pid = os.fork()
        except OSError as error:
            return str(error)
        if self._pid == 0:
            _become(self._command)
        return ""


def _become(command: tuple[str, ...]) -> None:
    """In the child."""
    try:
        footing_shell.leave_footing()
        os.execve(command[0], command, {})  # noqa: S606 - a program by its path, no shell
    finally:
        os._exit(exit_codes.FAILED)
