"""What a workload writes to, and what the history of its writers must look like."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MORE_THAN_A_LINE: Final = 1024


@dataclass(frozen=True, slots=True)
class Write:
    """One, by the clock that all machines share, which is the one that the API server's audit log has."""

    seconds: float
    machine: str
    boot: str
    pod: str


class Register:
    """A file to which every process that has the workload appends, for as long as it lives."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.touch()

    def writes(self) -> list[Write]:
        return [_read(line) for line in self.file.read_text().splitlines()]

    def last(self) -> Write | None:
        """Quick, however long the history is."""
        with self.file.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _MORE_THAN_A_LINE, 0))
            lines = file.read().decode().splitlines()
        return _read(lines[-1]) if lines else None

    def after(self, seconds: float, boot: str) -> list[Write]:
        """What a machine wrote in one of its boots after that moment."""
        return [write for write in self.writes() if write.boot == boot and write.seconds > seconds]

    def returns(self) -> list[Write]:
        """Writes of a process after those of another one that came later: two had the workload at once."""
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
