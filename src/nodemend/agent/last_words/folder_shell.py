"""The folder on disk that holds these records, one file a boot."""

import contextlib
import os

from nodemend.agent.feeder.record_shell import read_beginning, write_record
from nodemend.agent.last_words.reset_record import ResetRecord, format_reset, parse_reset
from nodemend.agent.last_words.tested_watchdog import (
    SeenToReset,
    driver_in,
    format_tested,
    is_tested,
    judge_reset,
)

KEPT = 16
"""Records; older ones are removed by the boot gate."""


class ResetFolder:
    """Whole records or none, and on the disk when `keep` and `forget` return. Those raise OSError."""

    def __init__(self, path: str) -> None:
        self._path = path

    def keep(self, record: ResetRecord) -> None:
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        path = f"{self._path}/{record.boot_id}"
        beside = f"{path}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(beside, flags, 0o600)
        try:
            os.write(descriptor, format_reset(record))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(beside, path)
        self._sync()

    def forget(self, boot_id: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._path}/{boot_id}")
            self._sync()

    def others(self, boot_id: str) -> list[ResetRecord]:
        """Those of other boots, the oldest first. What cannot be read is of nobody."""
        try:
            names = os.listdir(self._path)
        except OSError:
            return []
        found = (self._read(name) for name in names if name != boot_id)
        return sorted((one for one in found if one is not None), key=lambda one: one.wall)

    def _read(self, name: str) -> ResetRecord | None:
        """None for one that was not whole yet, under another name, as well."""
        record = read_reset(f"{self._path}/{name}")
        return record if record is not None and record.boot_id == name else None

    def prune(self, boot_id: str) -> None:
        """A disk that refuses keeps more than that: nothing rests on it."""
        with contextlib.suppress(OSError):
            for record in self.others(boot_id)[:-KEPT]:
                self.forget(record.boot_id)

    def _sync(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def keep_tested(here: str, told: str, boot_id: str, resets: list[ResetRecord], machine: str) -> None:
    """Note on disk which watchdog was seen to reset this machine, and tell it for this boot.

    A disk that refuses costs that, and nothing else: the watchdog is then one that was never tested.
    """
    seen = [one for one in map(judge_reset, resets) if one is not None and one.where == machine]
    with contextlib.suppress(OSError):
        if seen:
            write_record(here, format_tested(seen[-1]))
    with contextlib.suppress(OSError):
        if driver := driver_in(read_beginning(here), machine):
            write_record(told, format_tested(SeenToReset(boot_id, driver)))


def read_tested(path: str, where: str, driver: str) -> bool:
    """Whether the file says that this driver was seen to reset there."""
    try:
        return is_tested(read_beginning(path), where, driver)
    except OSError:
        return False


def read_reset(path: str) -> ResetRecord | None:
    """None for what is not there, and for what is not to be believed."""
    try:
        record = parse_reset(read_beginning(path))
    except OSError:
        return None
    return record if isinstance(record, ResetRecord) else None
