"""Runs many seeds of power cycles. `python -m tests.simulation.power.campaign --seeds 5000`."""

import sys
from collections import Counter

from tests.simulation.campaigning import Campaign
from tests.simulation.directing import DIRECTED_EVERY
from tests.simulation.power.run import Run, play

WANTED_SHARE = 0.30
"""Of the seeds with mixed faults."""


def _report(runs: list[Run], took: float) -> int:
    faults: Counter[str] = sum((run.faults for run in runs), Counter())
    broken = sum(bool(run.broken) for run in runs)
    for name, count in sorted(faults.items()):
        print(f"{count:8}  {name}")
    mixed = [run.releases > 0 for run in runs if run.seed % DIRECTED_EVERY]
    share = sum(mixed) / max(1, len(mixed))
    print(
        f"{len(runs)} seeds ({len(runs) / took:.2f} a second), {faults.total()} faults, "
        f"{sum(run.holds for run in runs)} power-offs asked for, "
        f"{sum(run.releases for run in runs)} releases, {share:.0%} of mixed seeds reached one "
        f"(at least {WANTED_SHARE:.0%} wanted), {broken} violations of I1-I9, I11, I14"
    )
    return 1 if broken or share < WANTED_SHARE else 0


CAMPAIGN = Campaign(
    __doc__ or "",
    "tests.simulation.power.campaign",
    play,
    _report,
    reached=lambda run: f", {run.releases} releases",
)

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
