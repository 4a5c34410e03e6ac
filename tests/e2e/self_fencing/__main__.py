"""`python -m tests.e2e.self_fencing [STORY...] [--histories N]`: real processes and cut links.

Needs root: each node has a network namespace. The watchdogs are files; `just watchdog` tests the real ones.
Stories have clusters of five nodes; many histories run at a time in a larger one. Without arguments all
stories and 50 histories run.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tests.e2e.self_fencing import agent_variants
from tests.e2e.self_fencing.campaign import Campaign
from tests.e2e.self_fencing.cluster import Cast, Cluster, open_cluster
from tests.e2e.self_fencing.history import End, WrongError
from tests.e2e.self_fencing.networks import enter_own
from tests.e2e.self_fencing.peer_queries import try_doors
from tests.e2e.self_fencing.stories import BYZANTINE, FALSE, HONEST, LYING, NODES, Stage, Stories

_BEGAN: Final = time.monotonic()


@dataclass
class Counts:
    """The counts of one lane, or of all."""

    stories: int = 0
    histories: int = 0
    ends: Counter[End] = field(default_factory=Counter)
    resets: int = 0
    refusals: int = 0
    margins: list[float] = field(default_factory=list)
    wrong: int = 0

    def add(self, other: "Counts") -> None:
        self.stories += other.stories
        self.histories += other.histories
        self.ends += other.ends
        self.resets += other.resets
        self.refusals += other.refusals
        self.margins += other.margins
        self.wrong += other.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stories", nargs="*")
    parser.add_argument("--histories", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=48)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    if unknown := {*options.stories} - {*HONEST, *LYING, *FALSE}:
        parser.error(f"no such story: {', '.join(sorted(unknown))}")
    everything = not options.stories and not options.histories
    histories = 50 if everything else options.histories
    lanes = [
        partial(tell, number, reported, who)
        for number, (stories, who) in enumerate(_CLUSTERS)
        if (reported := {name: one for name, one in stories.items() if everything or name in options.stories})
    ]
    if histories:
        lanes.append(partial(play, len(_CLUSTERS), histories, options.nodes, options.seed))
    counts = Counts()
    enter_own()
    with ThreadPoolExecutor(len(lanes)) as hands:
        for done in [hands.submit(lane) for lane in lanes]:
            counts.add(done.result())
    return _report(counts)


_CLUSTERS: Final[tuple[tuple[Stories, Cast], ...]] = (
    (HONEST, agent_variants.all_honest),
    (LYING, agent_variants.last_lies),
    (FALSE, agent_variants.all_but_the_first_show_false_ones),
)


def tell(number: int, stories: Stories, who: Cast) -> Counts:
    """Run the stories one after another, in one cluster. A failure ends the run."""
    counts = Counts()
    with _cluster(number, NODES, who) as cluster:
        stage = Stage(cluster)
        for title, story in stories.items():
            try:
                cluster.until("all are well", cluster.is_whole)
                said = story(stage)
                counts.stories += 1
            except (WrongError, TimeoutError) as error:
                said = f"WRONG: {error}\n" + "\n".join(cluster.reported(node) for node in cluster.hosts)
                counts.wrong += 1
            _say(f"{title}: {said}")
            if counts.wrong:
                break
            stage.mend_all()
        counts.margins, counts.refusals = stage.margins, stage.refused
        counts.ends, counts.resets = stage.outcomes, len(cluster.resets())
    return counts


def play(number: int, histories: int, nodes: int, seed: str) -> Counts:
    with _cluster(number, nodes, agent_variants.last_says_healthy) as cluster:
        try:
            cluster.until("all are well", cluster.is_whole)
            _say(f"{nodes} nodes are well")
            tried, wrong = try_doors(cluster, _say)
            campaign = Campaign(cluster, seed, list(cluster.hosts)[BYZANTINE], _say)
            campaign.play(histories)
        except (WrongError, TimeoutError) as error:
            _say(f"WRONG: {error}")
            return Counts(wrong=1)
    return Counts(
        histories=campaign.played,
        ends=campaign.ends,
        resets=campaign.resets,
        refusals=tried,
        margins=campaign.margins,
        wrong=wrong + len(campaign.wrong),
    )


@contextmanager
def _cluster(number: int, nodes: int, who: Cast) -> Iterator[Cluster]:
    names = tuple(f"c{number}-{node}" for node in range(nodes))
    with (
        tempfile.TemporaryDirectory(prefix="nodemend-fencing-") as folder,
        open_cluster(names, Path(folder), number, who) as cluster,
    ):
        yield cluster


def _say(line: str) -> None:
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {line}", flush=True)


def _report(counts: Counts) -> int:
    margin = f"{min(counts.margins):.1f} s" if counts.margins else "none"
    by_time, by_new_boot, left_alone = (counts.ends[end] for end in End)
    print(
        f"fencing-e2e: {counts.stories} stories, {counts.histories} histories,"
        f" {by_time} released by time, {by_new_boot} by a new boot, {left_alone} left alone as well,"
        f" {counts.resets} resets, smallest margin {margin}, {counts.refusals} refusals tried,"
        f" {counts.wrong} wrong"
    )
    return 1 if counts.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
