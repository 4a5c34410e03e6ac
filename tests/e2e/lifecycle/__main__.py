"""`python -m tests.e2e.lifecycle`: each change with a power cycle at every point; all must end safely."""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.e2e.lifecycle.changes import CHANGES, Change
from tests.e2e.lifecycle.install import Installation
from tests.e2e.lifecycle.points import POINTS, TEMPLATES, Point
from tests.e2e.power.node_pair import Cell, groups_of
from tests.e2e.power.real_cluster import Stage, open_stage, template
from tests.e2e.power.round import Round, WrongError

ENDS_WITHIN: Final = 300.0
"""Seconds. After errors, a host's operator waits by itself, and so does the remediator between attempts."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only changes whose name has this in it")
    parser.add_argument("--points", type=int, default=len(POINTS), help="only so many, the soonest first")
    options = parser.parse_args()
    changes = [change for change in CHANGES if options.only in change.name]
    points = POINTS[: options.points]
    names = [f"c{number}" for number in range(len(points))]
    groups = {group: labels for name in names for group, labels in groups_of(name).items()}
    with open_stage(groups) as stage:
        for name, spec in TEMPLATES.items():
            stage.plane.api.create(template(name, spec))
        ours = Installation(stage)
        cells = {point: Cell(stage, name, point.template) for name, point in zip(names, points, strict=True)}
        for cell in cells.values():
            cell.furnish()
        wrong = [why for change in changes if (why := _play(change, stage, ours, cells))]
    played = len(changes) * len(points)
    print(f"lifecycle: {len(changes)} changes at {len(points)} points, {played} rounds, {len(wrong)} wrong")
    return 1 if wrong else 0


def _play(change: Change, stage: Stage, ours: Installation, cells: dict[Point, Cell]) -> str:
    """Run it, and return its fault; empty if it succeeded."""
    began = time.monotonic()
    print(f"{change.name} ...", flush=True)
    try:
        with ThreadPoolExecutor(len(cells)) as hands:
            rounds = list(hands.map(Round.begin, cells.values()))
            at = list(zip(cells, rounds, strict=True))
            list(hands.map(_reach, at))
            list(hands.map(_reach, [pair for pair in at if pair[0].passes]))
            change.happen(stage, ours, rounds)
            list(hands.map(_end, rounds))
    except (WrongError, TimeoutError) as error:
        print(f"WRONG: {change.name}: {error}", flush=True)
        return str(error)
    print(f"{time.monotonic() - began:6.1f} s  {change.name}: all end well", flush=True)
    return ""


def _reach(at: tuple[Point, Round]) -> None:
    point, round_ = at
    point.reach(round_)


def _end(round_: Round) -> None:
    round_.until_over(ENDS_WITHIN)
    round_.evaluate()


if __name__ == "__main__":
    sys.exit(main())
