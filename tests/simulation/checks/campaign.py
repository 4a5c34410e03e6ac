"""Plays many seeds of the checks. `python -m tests.simulation.checks.campaign --seeds 5000`."""

import argparse
import sys
import time
from collections import Counter
from math import inf

from tests.simulation.campaigning import play_all
from tests.simulation.checks.run import Run, play

REPLAY = "python -m tests.simulation.checks.campaign --replay {seed}"
WANTED_SHARE = 0.65
"""In the others the links are so bad all the time that the guard never trusts what it sees."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=inf, help="begin no more seeds after so long")
    parser.add_argument("--replay", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.replay is not None:
        return _replay(options.replay)
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    runs = play_all(play, seeds, workers=options.workers, replay=REPLAY, minutes=options.minutes)
    return _report(runs, time.monotonic() - began)


def _replay(seed: int) -> int:
    run = play(seed, keep_trace=True)
    print("\n".join(run.lines))
    print(f"seed {seed}: {run.broken or 'all invariants hold'}, {run.begun} begun")
    return 1 if run.broken else 0


def _report(runs: list[Run], seconds: float) -> int:
    faults: Counter[str] = sum((run.faults for run in runs), Counter())
    broken = [run for run in runs if run.broken]
    for name, count in sorted(faults.items()):
        print(f"{count:8}  {name}")
    share = sum(run.begun > 0 for run in runs) / len(runs)
    print(f"{len(runs) / seconds:.1f} seeds a second")
    print(
        f"{len(runs)} seeds, {faults.total()} faults, {sum(run.begun for run in runs)} remediations begun, "
        f"{sum(run.withdrawn for run in runs)} withdrawn, "
        f"{sum(run.replaced for run in runs)} machines replaced, "
        f"{sum(run.recovered for run in runs)} nodes recovered, "
        f"{share:.0%} of seeds began one (at least {WANTED_SHARE:.0%} wanted), "
        f"{len(broken)} violations of I3, I4, I5, I6, I8, I14"
    )
    return 1 if broken or share < WANTED_SHARE else 0


if __name__ == "__main__":
    sys.exit(main())
