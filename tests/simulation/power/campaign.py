"""Plays many seeds of power cycles. `python -m tests.simulation.power.campaign --seeds 5000`."""

import argparse
import sys
from collections import Counter

from tests.simulation.campaigning import play_all
from tests.simulation.power.run import Run, play

REPLAY = "python -m tests.simulation.power.campaign --replay {seed}"
WANTED_SHARE = 0.30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.replay is not None:
        return _replay(options.replay)
    seeds = range(options.first, options.first + options.seeds)
    return _report(play_all(play, seeds, workers=options.workers, replay=REPLAY))


def _replay(seed: int) -> int:
    run = play(seed, keep_trace=True)
    print("\n".join(run.lines))
    print(f"seed {seed}: {run.broken or 'all invariants hold'}, {run.releases} releases")
    return 1 if run.broken else 0


def _report(runs: list[Run]) -> int:
    faults: Counter[str] = sum((run.faults for run in runs), Counter())
    broken = sum(bool(run.broken) for run in runs)
    for name, count in sorted(faults.items()):
        print(f"{count:8}  {name}")
    share = sum(run.releases > 0 for run in runs) / len(runs)
    print(
        f"{len(runs)} seeds, {faults.total()} faults, {sum(run.holds for run in runs)} power-offs asked for, "
        f"{sum(run.releases for run in runs)} releases, {share:.0%} of seeds reached one "
        f"(at least {WANTED_SHARE:.0%} wanted), {broken} violations of I1-I5, I7, I8, I11, I14"
    )
    return 1 if broken or share < WANTED_SHARE else 0


if __name__ == "__main__":
    sys.exit(main())
