"""`python -m tests.e2e.power --rounds 100`: every story, again and again, in cells side by side.

Then a power cycle for each of the remediator's writes, at which it dies (or for each `--every`-th), and some
with two remediators that take turns.
"""

import argparse
import itertools
import sys
import time

from installed.programs import mend
from tests.e2e.power import deaths, ends, failing, healing, two_remediators, untrusted_status
from tests.e2e.power.node_pair import Cell, groups_of
from tests.e2e.power.playing import Played, play_all
from tests.e2e.power.real_cluster import Stage, open_stage
from tests.e2e.power.round import Story

_STORIES = (healing.STORIES, failing.STORIES, untrusted_status.STORIES, ends.STORIES)
# In turn, so that a few rounds show something of each.
STORIES = [story for few in itertools.zip_longest(*_STORIES) for story in few if story is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--cells", type=int, default=6)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    began = time.monotonic()
    stories = [story for story in STORIES if options.only in story.name]
    rounds = list(itertools.islice(itertools.cycle(stories), options.rounds))
    names = [f"c{number}" for number in range(options.cells)]
    groups = {group: labels for name in names for group, labels in groups_of(name).items()}
    with open_stage(groups) as stage:
        cells = [Cell(stage, name) for name in names]
        for cell in cells:
            cell.furnish()
        print(f"up after {time.monotonic() - began:.0f} s", flush=True)
        played = _play_stories(stage, cells, rounds)
        _show_what_happened(stage, cells[0])
        if not options.only:
            played += _play_deaths(stage, cells, options.every)
            played += _play_competitors(stage, cells, options.every)
    return _report(played, len(rounds), time.monotonic() - began)


def _play_stories(stage: Stage, cells: list[Cell], rounds: list[Story]) -> list[Played]:
    remediator = stage.start_remediator()
    try:
        return play_all(cells, rounds)
    finally:
        remediator.end()


def _show_what_happened(stage: Stage, cell: Cell) -> None:
    """The timeline of one of its nodes, as a user reads it."""
    print(mend(stage.plane.kubeconfig, "timeline", cell.nodes[0]).stdout, flush=True)


def _play_deaths(stage: Stage, cells: list[Cell], every: int) -> list[Played]:
    """As many as there are writes, which a first round counts."""
    with deaths.dying(stage) as plan:
        counting = play_all(cells, [deaths.story(plan, deaths.NEVER)])
        last = plan.most_writes()
        print(f"a power cycle has {last} writes", flush=True)
        stories = [deaths.story(plan, number) for number in range(1, last + 1, every)]
        return [*counting, *play_all(cells, stories)]


def _play_competitors(stage: Stage, cells: list[Cell], every: int) -> list[Played]:
    with two_remediators.rivalling(stage) as both:
        return play_all(cells, two_remediators.stories(both, min(every, 2)))


def _report(played: list[Played], wanted: int, seconds: float) -> int:
    wrong = [one for one in played if one.wrong]
    releases = sum(one.releases for one in played)
    print(
        f"power-e2e: {len(played)} of {wanted} rounds of {len({one.story for one in played})} stories, "
        f"{releases} releases, {len(wrong)} wrong, {seconds:.0f} s"
    )
    return 1 if wrong or len(played) < wanted else 0


if __name__ == "__main__":
    sys.exit(main())
