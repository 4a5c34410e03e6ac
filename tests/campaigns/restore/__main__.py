"""`python -m tests.campaigns.restore`: etcd is restored at every phase of every remediation, in three ways.

No boot that runs may be released. With `--mutants` each mistake in `mutants` is made, and the campaign alone
has to notice.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from tests.campaigns.restore.mutants import MUTANTS, catch
from tests.campaigns.restore.run import Run, play
from tests.simulation.campaigning import play_all

REPLAY: Final = "python -m tests.campaigns.restore --replay {seed}"
WANTED: Final = 12
"""Mutants that the campaign has to catch by itself."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--mutants", action="store_true", help="make each mistake, and see whether it shows")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    if options.replay is not None:
        run = play(options.replay, keep_trace=True)
        print("\n".join(run.lines))
        print(f"seed {run.seed}: {run.broken or 'no release of a running boot'}")
        return 1 if run.broken else 0
    if options.mutants:
        return _try_mutants(seeds, options.workers)
    began = time.monotonic()
    runs = play_all(play, seeds, workers=options.workers, replay=REPLAY)
    return _report(runs, time.monotonic() - began)


def _report(runs: list[Run], took: float) -> int:
    counts: Counter[str] = sum((run.counts for run in runs), Counter())
    for name, number in sorted(counts.items()):
        print(f"{number:8}  {name}")
    print(f"{sum(run.releases for run in runs):8}  releases, {len(runs) / took:.2f} seeds a second")
    broken = sum(bool(run.broken) for run in runs)
    restores = sum(run.restores for run in runs)
    print(f"{len(runs)} seeds, {restores} restores, {broken} releases of a running boot")
    return 1 if broken or not any(run.releases for run in runs) else 0


def _try_mutants(seeds: range, workers: int) -> int:
    with ProcessPoolExecutor(workers, max_tasks_per_child=1) as pool:
        found = list(pool.map(catch, MUTANTS, [seeds] * len(MUTANTS)))
    for name, seed in zip(MUTANTS, found, strict=True):
        print(f"{f'caught by seed {seed}' if seed is not None else 'NOT CAUGHT':20}  {name}")
    caught = sum(seed is not None for seed in found)
    print(f"{caught} of {len(MUTANTS)} mutants caught by {len(seeds)} seeds alone")
    return 0 if caught >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
