"""Every wait has an end, and says what it waited for."""

import time
from collections.abc import Callable, Sequence

from controlplane.process import Process

PAUSE = 0.02


def wait_until(
    what: str, holds: Callable[[], bool], *, within: float = 30.0, processes: Sequence[Process] = ()
) -> None:
    """Return once `holds()` is true, asked every few milliseconds.

    Raises TimeoutError after `within` seconds, or ProcessEndedError as soon as one of `processes` has ended.
    """
    deadline = time.monotonic() + within
    while not holds():
        for process in processes:
            process.check()
        if time.monotonic() > deadline:
            logs = "".join(f"\n{process.last_words()}" for process in processes)
            raise TimeoutError(f"not within {within:g} s: {what}{logs}")
        time.sleep(PAUSE)
