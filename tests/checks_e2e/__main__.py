"""`python -m tests.checks_e2e`: real silence and a storm, in every story."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Final, TypeVar

from tests.checks_e2e.populations import POPULATIONS, OneCluster
from tests.checks_e2e.silence import Silence, fall_silent
from tests.checks_e2e.storm import Storm, rage
from tests.checks_e2e.workload_clusters import ThreeClusters
from tests.checks_e2e.world import Story

T = TypeVar("T")

STORIES: Final[tuple[Story, ...]] = (*(OneCluster(one) for one in POPULATIONS), ThreeClusters())
LATE_AT_MOST: Final = 1.0
FEW: Final = 100
"""Nodes with which all storms may rage at once: who makes more is busy, and would make others late."""
READY_WITHIN: Final = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000, help="in the storm (%(default)s)")
    parser.add_argument("--only", help="one story, by its name")
    options = parser.parse_args()
    began = time.monotonic()
    stories = [one for one in STORIES if options.only in (None, one.name)]
    if not stories:
        parser.error(f"the stories are {', '.join(one.name for one in STORIES)}")
    wrong: list[str] = []
    latest = 0.0
    for story, silence in at_once(stories, fall_silent):
        latest = max(latest, silence.late)
        wrong += judge_silence(story, silence)

    def storm_of(story: Story, begin: Callable[[], object]) -> Storm:
        return rage(story, options.nodes, begin)

    groups = [stories] if options.nodes <= FEW else [[story] for story in stories]
    for group in groups:
        for story, storm in at_once(group, storm_of):
            latest = max(latest, storm.late)
            wrong += judge_storm(story, storm)
    for one in wrong:
        print(f"WRONG: {one}")
    print(
        f"checks-e2e: {len(stories)} stories, at most {latest:.2f} s after the deadline"
        f" (bar {LATE_AT_MOST:.0f} s), storms of 60 % of {options.nodes}: {len(wrong)} wrong"
        f" ({time.monotonic() - began:.0f} s)"
    )
    return 1 if wrong else 0


def at_once(
    stories: Sequence[Story], tell: Callable[[Story, Callable[[], object]], T]
) -> Iterator[tuple[Story, T]]:
    """Each in a world of its own; they begin together, when all of them are set up."""
    ready = Barrier(len(stories))

    def told(story: Story) -> T:
        try:
            return tell(story, lambda: ready.wait(READY_WITHIN))
        except BaseException:
            ready.abort()
            raise

    with ThreadPoolExecutor(len(stories)) as hands:
        told_of: list[Future[T]] = [hands.submit(told, story) for story in stories]
        for story, future in zip(stories, told_of, strict=True):
            yield story, future.result()


def judge_silence(story: Story, silence: Silence) -> Iterator[str]:
    print(
        f"{story.name}: asked for {silence.late:.2f} s after the deadline, withdrawn after"
        f" {silence.withdrawn:.2f} s, and after {silence.withdrawn_while_paused:.2f} s while paused",
        flush=True,
    )
    if silence.late > LATE_AT_MOST:
        yield f"{story.name} was {silence.late:.2f} s late"
    if silence.others:
        yield f"{story.name} asked for {', '.join(sorted(silence.others))}"


def judge_storm(story: Story, storm: Storm) -> Iterator[str]:
    print(
        f"{story.name}: {storm.failed} of {storm.total} failed, {len(storm.asked)} asked for, guard shut"
        f" after {storm.closed_after:.1f} s, {len(storm.stale)} stale afterwards; one before it asked for"
        f" {storm.late:.2f} s after the deadline, withdrawn in it after {storm.withdrawn:.2f} s;"
        f" {storm.said_of_the_hung}",
        flush=True,
    )
    if storm.late > LATE_AT_MOST:
        yield f"{story.name} was {storm.late:.2f} s late among {storm.total}"
    if storm.asked:
        yield f"{story.name} asked for {len(storm.asked)} in a storm, such as {min(storm.asked)}"
    if storm.stale:
        yield f"{story.name} left {len(storm.stale)} stale after a storm, such as {min(storm.stale)}"


if __name__ == "__main__":
    sys.exit(main())
