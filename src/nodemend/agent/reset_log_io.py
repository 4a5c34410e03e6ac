"""Records a boot that is no longer fed, on disk, until the machine is reset or fed again.

The feeder starts the recorder and does not wait for it: a disk that hangs blocks this process alone. The
records name the machine by the kernel's facts on board and firmware, because a disk may move to another.
"""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable
from hashlib import sha256

from nodemend.agent.reset_log import (
    ObservedReset,
    ResetRecord,
    driver_in,
    evaluate_reset,
    format_reset,
    format_tested,
    is_tested,
    parse_reset,
    record_of,
)
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records_io import read_beginning, read_or_empty, write_record

KEPT = 16
"""Number of records; the boot gate removes older ones."""


class ResetFolder:
    """Holds whole records only. `keep` and `forget` return once the disk has the change, or raise OSError."""

    def __init__(self, path: str) -> None:
        self._path = path

    def keep(self, record: ResetRecord) -> None:
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        write_record(f"{self._path}/{record.boot_id}", format_reset(record), 0o600, durable=True)
        self._sync()

    def forget(self, boot_id: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._path}/{boot_id}")
            self._sync()

    def others(self, boot_id: str) -> list[ResetRecord]:
        """Return the records of other boots, oldest first. Unreadable files are skipped."""
        try:
            names = os.listdir(self._path)
        except OSError:
            return []
        found = (self._read(name) for name in names if name != boot_id)
        return sorted((one for one in found if one is not None), key=lambda one: one.wall)

    def _read(self, name: str) -> ResetRecord | None:
        """Return a record; None also for an incomplete one, whose file has another name."""
        record = read_reset(f"{self._path}/{name}")
        return record if record is not None and record.boot_id == name else None

    def prune(self, boot_id: str) -> None:
        """Remove old records. If the disk refuses, more remain, and nothing relies on their number."""
        with contextlib.suppress(OSError):
            for record in self.others(boot_id)[:-KEPT]:
                self.forget(record.boot_id)

    def _sync(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def keep_tested(here: str, reported: str, boot_id: str, resets: list[ResetRecord], machine: str) -> None:
    """Record on disk which watchdog was observed to reset this machine, and copy that for this boot.

    If the disk refuses, the watchdog counts as untested, without any other effect.
    """
    seen = [one for one in map(evaluate_reset, resets) if one is not None and one.where == machine]
    with contextlib.suppress(OSError):
        if seen:
            write_record(here, format_tested(seen[-1]))
    with contextlib.suppress(OSError):
        if driver := driver_in(read_beginning(here), machine):
            write_record(reported, format_tested(ObservedReset(boot_id, driver)))


def read_tested(path: str, where: str, driver: str) -> bool:
    """True if the file says that this driver was observed to reset there."""
    return is_tested(read_or_empty(path), where, driver)


def read_reset(path: str) -> ResetRecord | None:
    """Return the record; None if the file does not exist or is not valid."""
    record = parse_reset(read_or_empty(path))
    return record if isinstance(record, ResetRecord) else None


_PLACES = (
    "/sys/class/dmi/id/product_uuid",
    "/sys/class/dmi/id/board_name",
    "/sys/class/dmi/id/bios_version",
    "/proc/device-tree/serial-number",
    "/proc/device-tree/model",
)
_UNIQUE = (_PLACES[0], _PLACES[3])
"""Without one of these, two machines of the same model cannot be distinguished."""


def machine_fingerprint(root: str = "") -> str:
    """Return the identity as one token; empty if unknown. `root` is a prefix of every path, for tests."""
    reported = {place: read_or_empty(root + place).strip() for place in _PLACES}
    if not any(reported[place] for place in _UNIQUE):
        return ""
    return sha256(b"\n".join(reported.values())).hexdigest()[:32]


_EVERY = 0.1
_LONGEST = 600.0
"""Seconds. A machine that runs this long has no watchdog that would reset it."""


def run(words: list[str], sleep: Callable[[float], None] = time.sleep) -> int:
    """Record until the boot is fed again, and return an exit code. Usually the machine is reset first."""
    options = parser().parse_args(words)
    boot_id = read_beginning(options.boot_id).decode("ascii").strip()
    folder = ResetFolder(options.folder)
    machine, ends = machine_fingerprint(), time.monotonic() + _LONGEST
    try:
        while time.monotonic() < ends:
            record = _read_record(options.status, boot_id, machine)
            if record is None:
                folder.forget(boot_id)
                return 0
            folder.keep(record)
            sleep(_EVERY)
    except OSError as error:
        sys.stderr.write(f"nodemend-last-words: {error}\n")
        return 1
    return 0


def _read_record(status: str, boot_id: str, machine: str) -> ResetRecord | None:
    reported = parse_status(read_beginning(status))
    return record_of(reported, boot_id, int(time.time()), time.clock_gettime_ns(time.CLOCK_BOOTTIME), machine)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="last-words", description=__doc__)
    parser.add_argument("--status", required=True, help="the feeder's status file")
    parser.add_argument("--folder", required=True, help="where records are kept, on a disk")
    parser.add_argument("--boot-id", required=True)
    return parser
