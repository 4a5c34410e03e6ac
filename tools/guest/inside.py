"""Shared code of programs inside a guest: its clock, its first serial line, its processes."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path


def put_inside(stage: Path) -> None:
    """Put this module where a guest's programs find it, with `stage` first on their import path."""
    (stage / "guest").mkdir()
    shutil.copy(__file__, stage / "guest")


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def tell(word: str, *rest: object) -> None:
    """Write one line atomically, since the kernel writes there, too."""
    os.write(1, f"{word} {now():.3f} {' '.join(map(str, rest))}\n".encode())


def child(action: Callable[[], None]) -> int:
    """A process that runs the function; returns its process ID."""
    pid = os.fork()
    if pid:
        return pid
    try:
        action()
    finally:
        os._exit(1)


def become(words: list[str]) -> None:
    os.execv(words[0], words)  # noqa: S606 - a program by its path
