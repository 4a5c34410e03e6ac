"""CPU and memory of this process between two moments. Standard library only: it runs in every client's own
environment."""

import ctypes
import gc
import json
import resource
import sys
import time
from pathlib import Path

LAP_BYTES = 8 * 1024 * 1024


class Measurement:
    """One run of one client. Prints one line of JSON that the campaign reads."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._before = 0.0
        self._began = 0.0
        self._resident = 0
        self._pause = 0.0
        self._longest_pause = 0.0
        self._cpu_laps: list[float] = []
        self._laps: list[float] = []
        self._next_lap = LAP_BYTES

    def begin(self) -> None:
        settle()
        gc.callbacks.append(self._note_pause)
        self._resident = resident_bytes()
        self._before = cpu_seconds()
        self._began = time.perf_counter()

    def lap(self) -> None:
        """Note what was used so far, so that laps of several rounds can be compared one by one."""
        self._cpu_laps.append(cpu_seconds() - self._before)
        self._laps.append(time.perf_counter() - self._began)

    def passed(self, total_bytes: int) -> None:
        """A lap whenever this many more bytes of a stream have been read."""
        if total_bytes >= self._next_lap:
            self.lap()
            self._next_lap += LAP_BYTES

    def end(self, events: int, cached: int, **more: float) -> None:
        cpu = cpu_seconds() - self._before
        wall = time.perf_counter() - self._began
        gc.callbacks.remove(self._note_pause)
        settle()
        result = {
            "client": self._client,
            "python": sys.version.split()[0],
            "events": events,
            "cached": cached,
            "cpu_us_per_event": cpu / events * 1e6,
            "events_per_second": events / wall,
            "seconds": wall,
            "cpu_seconds": cpu,
            "cache_bytes": resident_bytes() - self._resident,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "cpu_laps": [*self._cpu_laps, cpu],
            "laps": [*self._laps, wall],
            "longest_gc_ms": self._longest_pause * 1e3,
        }
        print("RESULT " + json.dumps(result | more), flush=True)

    def _note_pause(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._pause = time.perf_counter()
        else:
            self._longest_pause = max(self._longest_pause, time.perf_counter() - self._pause)


def cpu_seconds() -> float:
    return time.process_time()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def settle() -> None:
    """Release free memory, so that the rest is really in use."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
