"""One child process with an owner: started on a leash, paused, continued and ended by its process id."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")

# The kernel's "parent" is the thread that forked: a child forked by a thread that ends is killed with it. So
# one thread, which lives as long as this process, makes all the forks.
_forker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="forker")


class ProcessEndedError(Exception):
    """A process that should be running is not. Carries the end of its log."""


class PortTakenError(ProcessEndedError):
    """It ended because another process listens on its port."""


class Process:
    """A running program. It ends with `end`, or when this Python process dies for any reason."""

    def __init__(self, command: Sequence[str | Path], *, log: Path) -> None:
        self.name = log.stem
        self.log = log
        self._command = command
        self.start()

    def start(self) -> None:
        """Start it, again after it has ended."""
        self._to_end = False
        with self.log.open("ab") as output:
            self._child = _forker.submit(_start, self._command, output.fileno()).result()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def running(self) -> bool:
        """Also true for a paused process."""
        return self._child.poll() is None

    @property
    def paused(self) -> bool:
        """The kernel's state: `kill -STOP` by a user counts as well."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except FileNotFoundError:
            return False
        # The name, in parentheses, may contain any character.
        return stat.rpartition(")")[2].split()[0] == "T"

    @property
    def gave_up(self) -> bool:
        """True if it ended without being stopped."""
        return not self.running and not self._to_end

    def pause(self) -> None:
        """Stop it as if it hung: its connections stay open, nothing moves. Done when the kernel says so."""
        self._child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def end(self, within: float = 3.0) -> None:
        """Ask it to end, and kill it after `within` seconds. Harmless when it has ended already."""
        self._to_end = True
        self._child.send_signal(signal.SIGCONT)  # A stopped process acts on no request.
        self._child.terminate()
        try:
            self._child.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._to_end = True
        self._child.kill()
        self._child.wait()

    def check(self) -> None:
        """Raise ProcessEndedError, or PortTakenError, if it does not run."""
        if not self.running:
            said = self.last_output()
            kind = PortTakenError if "address already in use" in said else ProcessEndedError
            raise kind(f"{self.name} ended with {self._child.returncode}; {said}")

    def last_output(self, lines: int = 15) -> str:
        """The end of its log, for an error message."""
        said = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n  ".join([f"the end of {self.log}:", *said])


def _start(command: Sequence[str | Path], output: int) -> subprocess.Popen[bytes]:
    leashed = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), *map(str, command)]
    # A separate session: Ctrl-C goes to this process only, which then ends the programs in order.
    return subprocess.Popen(
        leashed, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )
