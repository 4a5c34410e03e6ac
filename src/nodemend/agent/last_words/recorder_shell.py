"""Keeps the record of a boot that is not fed any more, until the machine is reset or fed again.

The feeder starts it and does not wait for it: a disk that hangs, hangs this process alone.
"""

import argparse
import sys
import time
from collections.abc import Callable

from nodemend.agent.feeder.record_shell import read_beginning
from nodemend.agent.feeder.status_text import parse_status
from nodemend.agent.last_words.folder_shell import ResetFolder
from nodemend.agent.last_words.machine_shell import machine_word
from nodemend.agent.last_words.reset_record import ResetRecord, record_of

_EVERY = 0.1
_LONGEST = 600.0
"""Seconds. A machine that lives on for so long has no watchdog that would reset it."""


def run(words: list[str], sleep: Callable[[float], None] = time.sleep) -> int:
    """Its exit code; where all goes as it should, the machine is reset before there is one."""
    options = parser().parse_args(words)
    boot_id = read_beginning(options.boot_id).decode("ascii").strip()
    folder = ResetFolder(options.folder)
    machine, ends = machine_word(), time.monotonic() + _LONGEST
    try:
        while time.monotonic() < ends:
            record = _look(options.status, boot_id, machine)
            if record is None:
                folder.forget(boot_id)
                return 0
            folder.keep(record)
            sleep(_EVERY)
    except OSError as error:
        sys.stderr.write(f"nodemend-last-words: {error}\n")
        return 1
    return 0


def _look(status: str, boot_id: str, machine: str) -> ResetRecord | None:
    told = parse_status(read_beginning(status))
    return record_of(told, boot_id, int(time.time()), time.clock_gettime_ns(time.CLOCK_BOOTTIME), machine)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="last-words", description=__doc__)
    parser.add_argument("--status", required=True, help="the feeder's status file")
    parser.add_argument("--folder", required=True, help="where records are kept, on a disk")
    parser.add_argument("--boot-id", required=True)
    return parser
