"""The stories, inside the guest. Each begins with a feeder that feeds; what must follow is in `plays`."""

import os
import signal
import time
from pathlib import Path

from guest.inside import child, now, tell
from tests.e2e_watchdog.guest.stage import (
    BOOT_ID,
    FALSE_SYSRQ,
    LEASE,
    PERMIT,
    G,
    Stage,
    put,
    write_lease,
    write_permit,
)

FAULTY = "/stage/tests/e2e_watchdog/guest"
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
    """As a unit that is restarted at once, for ever; and nobody renews the lease."""
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
    """Locked out as long as the first lives, at work within a moment after."""
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


def writer_stands_down(stage: Stage) -> None:
    """The feeder is killed meanwhile, and goes on by the permit as well."""
    stage.feed()
    write_permit(BOOT_ID)
    stage.stop_writer(signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    stage.beat(LONG)
    stage.stop_feeder(signal.SIGKILL)
    stage.start_feeder()
    stage.beat(LONG)


def permit_taken_away(stage: Stage) -> None:
    """Without a lease that lasts: nothing is left to go by."""
    stage.feed()
    write_permit(BOOT_ID)
    stage.stop_writer(signal.SIGKILL)
    os.waitpid(stage.writer, 0)
    stage.beat(LONG)
    Path(PERMIT).unlink()
    stage.beat(LONG)


def stopped_with_permit(stage: Stage) -> None:
    stage.feed()
    write_permit(BOOT_ID)
    stage.stop_feeder(signal.SIGTERM)
    stage.beat(LONG)


def stopped_without_permit(stage: Stage) -> None:
    stage.feed()
    stage.stop_feeder(signal.SIGTERM)
    stage.beat(LONG)


def stopped_with_a_permit_of_another_boot(stage: Stage) -> None:
    stage.feed()
    write_permit("another-boot")
    stage.stop_feeder(signal.SIGTERM)
    stage.beat(LONG)


def condemned(stage: Stage) -> None:
    """And the attempt to reboot is without effect."""
    put(FALSE_SYSRQ, "")
    stage.feed()
    os.kill(stage.writer, signal.SIGKILL)
    write_lease(0, condemned=True)
    tell("FAULT", "condemned")
    stage.beat(4)
    tell("SAID", "the attempt:", Path(FALSE_SYSRQ).read_text())
    write_lease(now() + G)  # Nothing revives it.
    stage.beat(LONG)


def condemned_and_rebooted(stage: Stage) -> None:
    stage.feed(sysrq="/proc/sysrq-trigger")
    os.kill(stage.writer, signal.SIGKILL)
    write_lease(0, condemned=True)
    tell("FAULT", "condemned")
    stage.beat(LONG)


def paused_unseen(stage: Stage) -> None:
    """The host pauses the machine with its clocks, and lets it go on."""
    stage.feed()
    tell("PAUSE")
    stage.beat(LONG)


def frozen(stage: Stage) -> None:
    """The host has no time for the machine; its clocks show the gap afterwards."""
    stage.feed()
    tell("FREEZE")
    stage.beat(LONG)
