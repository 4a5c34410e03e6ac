"""Plays many seeds side by side, and tells at once what is broken: a campaign takes long."""

import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from math import inf
from typing import Protocol, TypeVar

TOLD_EVERY = 250


class Run(Protocol):
    @property
    def seed(self) -> int: ...
    @property
    def broken(self) -> str: ...


R = TypeVar("R", bound=Run)


def play_all(
    play: Callable[[int], R], seeds: range, *, workers: int, replay: str, minutes: float = inf
) -> list[R]:
    """Begin no more seeds after so many minutes. `replay` is a command with a place for {seed}."""
    began, runs = time.monotonic(), []
    with ProcessPoolExecutor(workers, initializer=_ignore_what_crashes_leave) as pool:
        for run in pool.map(play, seeds, chunksize=4):
            runs.append(run)
            if run.broken:
                print(f"seed {run.seed}: {run.broken}\n  replay: {replay.format(seed=run.seed)}", flush=True)
            if len(runs) % TOLD_EVERY == 0:
                print(f"... {len(runs)} of {len(seeds)} seeds", flush=True)
            if time.monotonic() - began > minutes * 60.0:
                pool.shutdown(cancel_futures=True)
                break
    return runs


def _ignore_what_crashes_leave() -> None:
    """A process that dies leaves work that it had not begun, and Python tells of each."""
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
