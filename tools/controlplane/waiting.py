"""Waits with a time limit, whose error names the condition."""

import time
from collections.abc import Callable, Sequence

from controlplane.process import Process

PAUSE = 0.02


def wait_until(
    what: str, holds: Callable[[], bool], *, within: float = 30.0, processes: Sequence[Process] = ()
) -> None:
    """Return once `holds()` is true, polled every few milliseconds.

    Raises TimeoutError after `within` seconds, or ProcessEndedError as soon as one of `processes` has ended.
    """
    deadline = time.monotonic() + within
    while not holds():
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            logs = "".join(f"\n{process.last_output()}" for process in processes)
            raise TimeoutError(f"not within {within:g} s: {what}{logs}")
        time.sleep(PAUSE)
