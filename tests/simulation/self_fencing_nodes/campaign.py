"""Runs many seeds of self-fencing by the shipped controllers on the simulated API server.

`python -m tests.simulation.self_fencing_nodes.campaign --seeds 2000`
"""

import sys
from collections import Counter
from typing import Final

from tests.simulation.campaigning import Campaign
from tests.simulation.self_fencing_nodes.directed import LongestLife
from tests.simulation.self_fencing_nodes.run import Run, play

WANTED_MARGIN: Final = 1.0
"""True seconds. A release that is too early by more than this appears as a violation of I1."""
CHECKED: Final = "I1 to I5, I8 to I10, I13, I14"


def _report(runs: list[Run], took: float) -> int:
    counts: Counter[str] = sum((run.counts for run in runs), Counter())
    for name, number in sorted(counts.items()):
        print(f"{number:8}  {name}")
    kinds = Counter(run.kind for run in runs)
    print(", ".join(f"{number} of {kind}" for kind, number in sorted(kinds.items())))
    releases: Counter[str] = sum((run.releases for run in runs), Counter())
    longest = [margin for run in runs if run.kind == LongestLife.family for margin in run.margins]
    smallest = min(longest, default=None)
    margin = "none" if smallest is None else f"{smallest:.2f} s"
    broken = sum(bool(run.broken) for run in runs)
    print(
        f"{len(runs)} seeds ({len(runs) / took:.1f} a second), {releases['E2']} releases by a new boot, "
        f"{releases['E4']} by time, smallest margin {margin} (less than {WANTED_MARGIN:g} s wanted), "
        f"{broken} violations of {CHECKED}"
    )
    return 1 if broken or smallest is None or smallest >= WANTED_MARGIN else 0


CAMPAIGN = Campaign(
    __doc__ or "",
    "tests.simulation.self_fencing_nodes.campaign",
    play,
    _report,
    lambda run: f", {run.kind}, {dict(run.releases)}, margins {[round(one, 3) for one in run.margins]}",
    seeds=60,
)

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
