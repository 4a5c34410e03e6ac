"""Plays many seeds of self-fencing. `python -m tests.simulation.fencing.campaign --seeds 10000`."""

import sys
from collections import Counter

from tests.simulation.campaigning import Campaign
from tests.simulation.fencing.run import Run, play

WANTED_SHARE = 0.30
"""Of seeds that reach a release by time: the others show little about it."""


def _report(runs: list[Run], took: float) -> int:
    counts: Counter[str] = sum((run.counts for run in runs), Counter())
    for name, number in sorted(counts.items()):
        print(f"{number:8}  {name}")
    broken = sum(bool(run.broken) for run in runs)
    share = sum(run.counts["release by E4"] > 0 for run in runs) / len(runs)
    faults = sum(number for name, number in counts.items() if name.startswith("fault"))
    print(
        f"{len(runs)} seeds ({len(runs) / took:.1f} a second), {faults} faults, {counts['reset']} resets, "
        f"{counts['release by E2']} releases by a new boot, {counts['release by E4']} by time "
        f"(in {share:.0%} of seeds, at least {WANTED_SHARE:.0%} wanted), "
        f"{broken} violations of I1, I2, I9, I10, I13, I14"
    )
    return 1 if broken or share < WANTED_SHARE else 0


CAMPAIGN = Campaign(
    __doc__ or "",
    "tests.simulation.fencing.campaign",
    play,
    _report,
    seeds=300,
)

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
