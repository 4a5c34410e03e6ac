"""The environment inside the guest: the shipped feeder, a fake agent, and a beat that reports their state.

Each printed line begins with a keyword and the guest's time. The fake agent renews the feed lease by writing
the lease file.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from guest.inside import become, child, now, tell
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import format_disarm_permission, format_lease
from nodemend.agent.watchdog.records_io import read_beginning, write_record
from nodemend.protocol.feed_lease import FeedLease
from tests.e2e.watchdog.guest.first import HOST, PYTHON

G, PING, WANTED = 35.0, 2.0, 10.0
"""Values of the design: the feed lease, the ping interval, the effective time to reset."""
RENEW_EVERY = 5.0
BEAT = 0.2
LEASE, STATUS, DISARM_PERMISSION = "/run/nodemend/lease", "/run/nodemend/status", "/run/nodemend/permit"
FALSE_SYSRQ = "/run/nodemend/false-sysrq"
BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
BOOT_ID = Path(BOOT_ID_FILE).read_text().strip()
REPORTED_KEYS = ("state", "class", "last-ping", "lease-until", "effective", "written-seconds", "for-good")


def put(path: str, text: str) -> None:
    """Write to a file of the kernel's, in one write."""
    Path(path).write_text(text)


def write_lease(until: float, *, fence_requested: bool = False) -> None:
    write_record(LEASE, format_lease(FeedLease(BOOT_ID, int(until * 1e9), fence_requested=fence_requested)))


def write_disarm_permission(boot_id: str) -> None:
    write_record(DISARM_PERMISSION, format_disarm_permission(boot_id))


def renew_for_ever() -> None:
    while True:
        write_lease(now() + G)
        time.sleep(RENEW_EVERY)


class Stage:
    """The feeder, the writer of the lease, and a beat that reports their state."""

    def __init__(self, phase: float) -> None:
        self.phase = phase
        self.feeder = 0
        self.writer = 0

    def start_feeder(self, *, program: str = f"{HOST}/start.py", sysrq: str = FALSE_SYSRQ) -> int:
        words = [
            *(*PYTHON, program, "feeder", "--device", "/dev/watchdog", "--lock", "/run/nodemend/lock"),
            *("--lease", LEASE, "--status", STATUS, "--permit", DISARM_PERMISSION),
            *("--boot-id", BOOT_ID_FILE, "--cpuinfo", "/proc/cpuinfo"),
            *("--sysfs", "/sys/class/watchdog/watchdog0", "--oom-score", "/proc/self/oom_score_adj"),
            *("--sysrq", sysrq, "--wanted-reset", f"{WANTED:g}", "--lease-length", f"{G:g}"),
            *("--ping-every", f"{PING:g}"),
        ]
        self.feeder = child(lambda: become(words))
        return self.feeder

    def start_writer(self) -> None:
        write_lease(now() + G)  # Before the feeder reads it.
        self.writer = child(renew_for_ever)

    def status(self) -> dict[str, str]:
        try:
            return parse_status(read_beginning(STATUS))
        except FileNotFoundError:
            return {}

    def beat(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Report the state repeatedly, for this many seconds or until the condition holds."""
        end = now() + seconds
        while now() < end and not until():
            self._tell_all()
            time.sleep(BEAT)

    def _tell_all(self) -> None:
        facts = self.status()
        tell("BEAT", *(f"{name}={facts.get(name, '-')}" for name in REPORTED_KEYS))

    def spin(self) -> None:
        """Hog the processor forever. Only the hogging process can report the time then."""
        due = now()
        while True:
            if now() >= due:
                self._tell_all()
                due += BEAT

    def outrun_the_feeder(self) -> None:
        """From here on the feeder does not run, so its last ping is the one reported now."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        self._tell_all()

    def feed(self, *, program: str = f"{HOST}/start.py", sysrq: str = FALSE_SYSRQ) -> None:
        """Start both, and wait until the feeder is armed and has fed for a while."""
        self.start_writer()
        self.start_feeder(program=program, sysrq=sysrq)
        self.beat(20, lambda: self.status().get("state") == "armed")
        facts = self.status()
        tell("ARMED", *(f"{name}={value.replace(' ', '_')}" for name, value in facts.items()))
        tell("RSS", resident_kilobytes(self.feeder))
        self.beat(4 + self.phase)

    def stop_feeder(self, number: int) -> None:
        """Send it a signal that ends it; report the latest time at which its descriptor was closed."""
        tell("FAULT", "signal", number)
        os.kill(self.feeder, number)
        self.reap()

    def reap(self) -> None:
        _, ended = os.waitpid(self.feeder, 0)
        tell("CLOSE", os.waitstatus_to_exitcode(ended))

    def stop_writer(self, number: int) -> None:
        tell("FAULT", "signal", number, "to the writer of the lease")
        os.kill(self.writer, number)


def resident_kilobytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
