"""The stories inside the guest. Each starts with a running feeder; `expected_results` has their results."""

import os
import signal
import time
from pathlib import Path

from guest.inside import child, now, tell
from tests.e2e.watchdog.guest.environment import (
    BOOT_ID,
    DISARM_PERMISSION,
    FALSE_SYSRQ,
    LEASE,
    G,
    Stage,
    put,
    write_disarm_permission,
    write_lease,
)

FAULTY = "/stage/tests/e2e/watchdog/guest"
LONG = 70.0
"""Longer than any reset may take."""


def feeds(stage: Stage) -> None:
    stage.feed()
    stage.beat(LONG)


def feeder_stopped(stage: Stage) -> None:
    stage.feed()
    tell("FAULT", "SIGSTOP")
    os.kill(stage.feeder, signal.SIGSTOP)
    stage.beat(LONG)


def feeder_killed(stage: Stage) -> None:
    stage.feed()
    stage.stop_feeder(signal.SIGKILL)
    stage.beat(LONG)


def feeder_killed_for_memory(stage: Stage) -> None:
    stage.feed()
    put(f"/proc/{stage.feeder}/oom_score_adj", "1000")
    tell("FAULT", "the kernel's OOM killer")
    put("/proc/sysrq-trigger", "f")
    stage.reap()
    stage.beat(LONG)


def memory_used_up(stage: Stage) -> None:
    stage.feed()
    tell("FAULT", "memory is used up")

    def hoard() -> None:
        put("/proc/self/oom_score_adj", "900")
        hoarded = []
        while True:
            hoarded.append(bytearray(1 << 20))

    hog = child(hoard)
    _, ended = os.waitpid(hog, 0)
    tell("SAID", "the hog ended with", os.waitstatus_to_exitcode(ended))
    stage.beat(LONG)


def processor_hogged(stage: Stage) -> None:
    stage.feed()
    put("/proc/sys/kernel/sched_rt_runtime_us", "-1")
    tell("FAULT", "a real-time loop")
    stage.outrun_the_feeder()
    stage.spin()


def kernel_panics(stage: Stage) -> None:
    stage.feed()
    stage.outrun_the_feeder()
    tell("FAULT", "panic, and no reboot after it")
    put("/proc/sysrq-trigger", "c")


def feeder_crashes_again_and_again(stage: Stage) -> None:
    """As a unit that is always restarted at once; the lease is not renewed."""
    stage.feed()
    stage.stop_writer(signal.SIGKILL)
    end = now() + LONG
    while now() < end:
        os.kill(stage.feeder, signal.SIGKILL)
        os.waitpid(stage.feeder, 0)
        stage.start_feeder()
        stage.beat(3 + stage.phase)


def feeder_restarted(stage: Stage) -> None:
    stage.feed()
    stage.stop_feeder(signal.SIGKILL)
    stage.beat(3)
    stage.start_feeder()
    stage.beat(LONG)


def feeder_hangs(stage: Stage) -> None:
    stage.feed(program=f"{FAULTY}/hanging_feeder.py")
    stage.beat(LONG)


def feeder_fails(stage: Stage) -> None:
    stage.feed(program=f"{FAULTY}/failing_feeder.py")
    stage.reap()
    stage.beat(LONG)


def another_feeder_waits(stage: Stage) -> None:
    """Locked out while the first one lives, and active within a moment after."""
    stage.feed()
    first = stage.feeder
    stage.start_feeder()
    stage.beat(5)
    tell("FAULT", "the first feeder is killed")
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    stage.beat(LONG)


def writer_stopped(stage: Stage) -> None:
    stage.feed()
    stage.stop_writer(signal.SIGSTOP)
    stage.beat(LONG)


def writer_killed(stage: Stage) -> None:
    stage.feed()
    stage.stop_writer(signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    stage.beat(LONG)


def writer_hangs(stage: Stage) -> None:
    stage.feed()
    os.kill(stage.writer, signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    tell("FAULT", "the writer lives and writes nothing")
    stage.writer = child(lambda: time.sleep(10 * LONG))
    stage.beat(LONG)


def writer_writes_garbage(stage: Stage) -> None:
    stage.feed()
    os.kill(stage.writer, signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    tell("FAULT", "the lease file is garbage")
    put(LEASE, "garbage")
    stage.beat(LONG)


def writer_restarted(stage: Stage) -> None:
    stage.feed()
    stage.stop_writer(signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    stage.beat(G - 8)
    stage.start_writer()
    stage.beat(LONG)


def writer_stops_gracefully(stage: Stage) -> None:
    """The feeder is killed meanwhile, and continues under the permit as well."""
    stage.feed()
    write_disarm_permission(BOOT_ID)
    stage.stop_writer(signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    stage.beat(LONG)
    stage.stop_feeder(signal.SIGKILL)
    stage.start_feeder()
    stage.beat(LONG)


def disarm_permission_taken_away(stage: Stage) -> None:
    """The lease has expired, so the feeder may no longer feed."""
    stage.feed()
    write_disarm_permission(BOOT_ID)
    stage.stop_writer(signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    stage.beat(LONG)
    Path(DISARM_PERMISSION).unlink()
    stage.beat(LONG)


def stopped_with_permission(stage: Stage) -> None:
    stage.feed()
    write_disarm_permission(BOOT_ID)
    stage.stop_feeder(signal.SIGTERM)
    stage.beat(LONG)


def stopped_without_permission(stage: Stage) -> None:
    stage.feed()
    stage.stop_feeder(signal.SIGTERM)
    stage.beat(LONG)


def stopped_with_a_permission_of_another_boot(stage: Stage) -> None:
    stage.feed()
    write_disarm_permission("another-boot")
    stage.stop_feeder(signal.SIGTERM)
    stage.beat(LONG)


def fence_requested(stage: Stage) -> None:
    """The attempt to reboot has no effect."""
    put(FALSE_SYSRQ, "")
    stage.feed()
    os.kill(stage.writer, signal.SIGKILL)
    write_lease(0, fence_requested=True)
    tell("FAULT", "condemned")
    stage.beat(4)
    tell("SAID", "the attempt:", Path(FALSE_SYSRQ).read_text())
    write_lease(now() + G)  # No later lease revives it.
    stage.beat(LONG)


def fenced_and_rebooted(stage: Stage) -> None:
    stage.feed(sysrq="/proc/sysrq-trigger")
    os.kill(stage.writer, signal.SIGKILL)
    write_lease(0, fence_requested=True)
    tell("FAULT", "condemned")
    stage.beat(LONG)


def paused_unseen(stage: Stage) -> None:
    """The host pauses the machine with its clocks, and resumes it."""
    stage.feed()
    tell("PAUSE")
    stage.beat(LONG)


def frozen(stage: Stage) -> None:
    """The host does not schedule the machine; its clocks show the gap afterwards."""
    stage.feed()
    tell("FREEZE")
    stage.beat(LONG)
