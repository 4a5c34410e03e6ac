"""Reviewed drills: the text before, and the result after.

`python -m tests.unit.cli.drill.goldens` rewrites them; the reviewer reads the difference.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

from nodemend.api.agent import LastReset
from nodemend.cli.drill import DrillView, drilled_view, render_drilled, render_preview

FOLDER: Final = Path(__file__).with_name("golden")
DRAINED: Final = DrillView(
    node="edge-07",
    node_uid="uid-7",
    boot_id="boot-1",
    by="anna",
    watchdog="hardware (iTCO_wdt)",
    driver="iTCO_wdt",
    written_seconds=5.0,
    effective_seconds=10.0,
    feed_lease_seconds=35.0,
    safe_time_seconds=72,
    why_not_by_time="",
    pods=(),
)
LOADED: Final = replace(
    DRAINED,
    safe_time_seconds=None,
    why_not_by_time="no boot gate holds its kubelet back when it returns",
    pods=("shop/db-0", "shop/web-5"),
)
CASES: Final = {
    "before": tuple(render_preview(DRAINED, 120)),
    "before_with_workloads": tuple(render_preview(LOADED, 120)),
    **{
        name: tuple(render_drilled(drilled_view(DRAINED, reset, 131.0, "boot-2"), 120))
        for name, reset in {
            "within": LastReset(boot_id="boot-1", lived_on=9.8),
            "late": LastReset(boot_id="boot-1", lived_on=19.94),
            "rebooted_by_its_kernel": LastReset(boot_id="boot-1", fence_requested=True, lived_on=0.6),
            "no_record": None,
            "the_record_of_an_earlier_reset": LastReset(boot_id="boot-0", lived_on=9.8),
        }.items()
    },
}
"""Cases by the name of the golden file."""


def text(name: str) -> str:
    return "\n".join((*CASES[name], ""))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(text(case))
