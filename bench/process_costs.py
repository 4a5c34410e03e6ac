"""The CPU time and memory of another process."""

import os
import re
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """CPU seconds, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_of(pid: int) -> tuple[int, int]:
    """Resident bytes, now and at the peak."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident, peak = (re.search(rf"{name}:\s+(\d+) kB", status) for name in ("VmRSS", "VmHWM"))
    assert resident is not None
    assert peak is not None
    return int(resident[1]) * 1024, int(peak[1]) * 1024
