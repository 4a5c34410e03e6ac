"""Runs many seeds in parallel and reports violations immediately, because a campaign takes long."""

import argparse
import gc
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import inf
from typing import Generic, Protocol, TypeVar

REPORT_INTERVAL = 250


class Run(Protocol):
    @property
    def seed(self) -> int: ...
    @property
    def broken(self) -> str: ...


class TracedRun(Run, Protocol):
    @property
    def lines(self) -> Sequence[str]: ...


R = TypeVar("R", bound=Run)
T = TypeVar("T", bound=TracedRun)
T_co = TypeVar("T_co", bound=TracedRun, covariant=True)


class Play(Protocol[T_co]):
    def __call__(self, seed: int, *, keep_trace: bool = False) -> T_co: ...


@dataclass(frozen=True, slots=True)
class Campaign(Generic[T]):
    """Parameters of one campaign.

    `report` receives the runs and their duration in seconds, and returns the exit status.
    """

    about: str
    module: str
    play: Play[T]
    report: Callable[[list[T], float], int]
    reached: Callable[[T], str] = lambda _: ""
    """Text that a replay prints in addition to the verdict."""
    seeds: int = 100

    def main(self) -> int:
        parser = argparse.ArgumentParser(description=self.about)
        parser.add_argument("--seeds", type=int, default=self.seeds)
        parser.add_argument("--first", type=int, default=0)
        parser.add_argument("--workers", type=int, default=2)
        parser.add_argument("--minutes", type=float, default=inf, help="begin no more seeds after so long")
        parser.add_argument("--replay", type=int, metavar="SEED")
        options = parser.parse_args()
        if options.replay is not None:
            return self._replay(options.replay)
        replay, began = f"python -m {self.module} --replay {{seed}}", time.monotonic()
        seeds = range(options.first, options.first + options.seeds)
        runs = play_all(self.play, seeds, workers=options.workers, replay=replay, minutes=options.minutes)
        return self.report(runs, time.monotonic() - began)

    def _replay(self, seed: int) -> int:
        run = self.play(seed, keep_trace=True)
        print("\n".join(run.lines))
        print(f"seed {seed}: {run.broken or 'all invariants hold'}{self.reached(run)}")
        return 1 if run.broken else 0


def play_all(
    play: Callable[[int], R], seeds: Sequence[int], *, workers: int, replay: str, minutes: float = inf
) -> list[R]:
    """Run the seeds and return the runs.

    No seed starts after `minutes`. `replay` is a command with the placeholder {seed}.
    """
    began, runs = time.monotonic(), []
    with ProcessPoolExecutor(workers, initializer=prepare_worker) as pool:
        for run in pool.map(_Noted(play), seeds, chunksize=4):
            runs.append(run)
            if run.broken:
                print(f"seed {run.seed}: {run.broken}\n  replay: {replay.format(seed=run.seed)}", flush=True)
            if len(runs) % REPORT_INTERVAL == 0:
                print(f"... {len(runs)} of {len(seeds)} seeds", flush=True)
            if time.monotonic() - began > minutes * 60.0:
                pool.shutdown(cancel_futures=True)
                break
    return runs


class _Noted(Generic[R]):
    """Adds the seed to the notes of an exception. It runs in a worker process."""

    def __init__(self, play: Callable[[int], R]) -> None:
        self._play = play

    def __call__(self, seed: int) -> R:
        try:
            return self._play(seed)
        except Exception as error:
            error.add_note(f"in seed {seed}")
            raise


def prepare_worker() -> None:
    """Configure a process that runs many worlds.

    A simulated process that dies leaves coroutines that were never awaited; Python warns about each. A world
    exists for seconds and is dropped as a whole, so frequent garbage collections find little: fewer of them
    save a tenth of the time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
