"""The file that a workload writes to, and the required properties of its history."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MORE_THAN_A_LINE: Final = 1024


@dataclass(frozen=True, slots=True)
class Write:
    """One write, by the clock of the machine, which the API server's audit log uses, too."""

    seconds: float
    machine: str
    boot: str
    pod: str


class Register:
    """A file to which every process that has the workload appends while it lives."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.touch()

    def writes(self) -> list[Write]:
        return [_read(line) for line in self.file.read_text().splitlines()]

    def last(self) -> Write | None:
        """The last write. Fast for any length of the history."""
        with self.file.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _MORE_THAN_A_LINE, 0))
            lines = file.read().decode().splitlines()
        return _read(lines[-1]) if lines else None

    def after(self, seconds: float, boot: str) -> list[Write]:
        """The writes of one boot of a machine after that time."""
        return [write for write in self.writes() if write.boot == boot and write.seconds > seconds]

    def returns(self) -> list[Write]:
        """Writes of a process after those of a later one: two had the workload at once."""
        seen: list[str] = []
        found = []
        for write in sorted(self.writes(), key=lambda one: one.seconds):
            owner = f"{write.boot}/{write.pod}"
            if owner not in seen:
                seen.append(owner)
            elif owner != seen[-1]:
                found.append(write)
        return found


def _read(line: str) -> Write:
    nanoseconds, machine, boot, pod = line.split()
    return Write(int(nanoseconds) / 1e9, machine, boot, pod)
