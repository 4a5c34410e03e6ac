"""Runs many seeds of the walking path. `python -m tests.simulation.walking_path.campaign --seeds 2000`."""

import argparse
import sys
import time
from collections import Counter

from tests.simulation.campaigning import play_all
from tests.simulation.walking_path.run import Run, play

REPLAY = "python -m tests.simulation.walking_path.campaign --replay {seed}"
WANTED_SHARE = 0.30


def main() -> int:
    options = _options()
    if options.replay is not None:
        return _replay(options.replay)
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    runs = play_all(play, seeds, workers=options.workers, replay=REPLAY)
    return _report(runs, time.monotonic() - began)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replay", type=int, metavar="SEED")
    return parser.parse_args()


def _replay(seed: int) -> int:
    run = play(seed, keep_trace=True)
    print("\n".join(run.lines))
    print(f"seed {seed}: {run.broken or 'all invariants hold'}, {run.releases} releases")
    return 1 if run.broken else 0


def _report(runs: list[Run], seconds: float) -> int:
    faults: Counter[str] = sum((run.faults for run in runs), Counter())
    broken = [run for run in runs if run.broken]
    for name, count in sorted(faults.items()):
        print(f"{count:8}  {name}")
    reached = sum(run.releases > 0 for run in runs)
    simulated = sum(run.simulated for run in runs)
    print(
        f"{simulated / seconds:,.0f} simulated seconds a second, "
        f"{sum(run.steps for run in runs) / seconds:,.0f} steps a second"
    )
    share = reached / len(runs)
    print(
        f"{len(runs)} seeds, {faults.total()} faults, {sum(run.releases for run in runs)} releases, "
        f"{share:.0%} of seeds reached one (at least {WANTED_SHARE:.0%} wanted), "
        f"{sum(run.followed for run in runs)} orders followed, "
        f"{len(broken)} violations of I1-I5, I8, I11, I14"
    )
    return 1 if broken or share < WANTED_SHARE else 0


if __name__ == "__main__":
    sys.exit(main())
