"""Runs many seeds of the checks. `python -m tests.simulation.checks.campaign --seeds 5000`."""

import sys
from collections import Counter

from tests.simulation.campaigning import Campaign
from tests.simulation.checks.run import Run, play

WANTED_SHARE = 0.65
"""In the other seeds, the links are always so bad that the guard never trusts its cache."""


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


CAMPAIGN = Campaign(
    __doc__ or "",
    "tests.simulation.checks.campaign",
    play,
    _report,
    reached=lambda run: f", {run.begun} begun",
)

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
