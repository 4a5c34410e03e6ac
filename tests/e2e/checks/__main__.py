"""`python -m tests.e2e.checks`: real silence and a storm, in every story."""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Lock, Semaphore
from typing import Final

from exit_status import exit_status
from tests.e2e.checks.populations import POPULATIONS, OneCluster
from tests.e2e.checks.silence import Silence, fall_silent
from tests.e2e.checks.storm import Storm, rage
from tests.e2e.checks.workload_clusters import ThreeClusters
from tests.e2e.checks.world import Story

STORIES: Final[tuple[Story, ...]] = (*(OneCluster(one) for one in POPULATIONS), ThreeClusters())
LATE_AT_MOST: Final = 1.0
FEW: Final = 100
"""Up to this many nodes all storms may run at once; creating more is too much load for the others."""
READY_WITHIN: Final = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000, help="in a storm (%(default)s)")
    parser.add_argument("--only", help="one story, by its name")
    options = parser.parse_args()
    began = time.monotonic()
    stories = [one for one in STORIES if options.only in (None, one.name)]
    if not stories:
        parser.error(f"the stories are: {', '.join(one.name for one in STORIES)}")
    progress = ProgressReport(len(stories), options.nodes)
    with ThreadPoolExecutor(len(stories)) as hands:
        reported = list(hands.map(progress.tell, stories))
    latest = max(max(silence.late, storm.late) for silence, storm in reported)
    wrong, late = (
        [
            one
            for story, (silence, storm) in zip(stories, reported, strict=True)
            for one in evaluate(story, silence, storm)
        ]
        for evaluate in (find_wrong, find_late)
    )
    for one in (*wrong, *late):
        print(f"WRONG: {one}")
    print(
        f"checks-e2e: {len(stories)} stories, at most {latest:.2f} s after the deadline"
        f" (bar {LATE_AT_MOST:.0f} s), storms of 60 % of {options.nodes}: {len(wrong + late)} wrong"
        f" ({time.monotonic() - began:.0f} s)"
    )
    return exit_status(wrong=bool(wrong), late=bool(late))


class ProgressReport:
    """Runs all stories at once, each in its own world; measurements wait until no world is being set up."""

    def __init__(self, stories: int, nodes: int) -> None:
        self._together = Barrier(stories)
        self._nodes = nodes
        self._at_once = nodes <= FEW
        self._storms = Semaphore(stories if self._at_once else 1)
        self._measured = Lock()

    def tell(self, story: Story) -> tuple[Silence, Storm]:
        try:
            with story.world() as world:
                silence = fall_silent(world, self._wait)
                print_silence(story, silence)
                self._wait()
                with self._storms:
                    storm = rage(world, self._nodes // story.clusters, self._undisturbed)
                print_storm(story, storm)
                return silence, storm
        except BaseException as error:
            # The waiting ones would only report that.
            print(f"{story.name}: {error!r}", flush=True)
            self._together.abort()
            raise

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """One story is measured while all others wait; stories with serial storms wait anyway."""
        if self._at_once:
            self._wait()
        with self._measured:
            yield
        if self._at_once:
            self._wait()

    def _wait(self) -> None:
        self._together.wait(READY_WITHIN)


def print_silence(story: Story, silence: Silence) -> None:
    print(
        f"{story.name}: asked for {silence.late:.2f} s after the deadline, withdrawn after"
        f" {silence.withdrawn:.2f} s, and after {silence.withdrawn_while_paused:.2f} s while paused",
        flush=True,
    )


def print_storm(story: Story, storm: Storm) -> None:
    print(
        f"{story.name}: {storm.failed} of {storm.total} failed, {len(storm.asked)} asked for, guard shut"
        f" after {storm.closed_after:.1f} s, {len(storm.stale)} stale afterwards; one before it asked for"
        f" {storm.late:.2f} s after the deadline, withdrawn in it after {storm.withdrawn:.2f} s;"
        f" {storm.said_of_the_hung}",
        flush=True,
    )


def find_late(story: Story, silence: Silence, storm: Storm) -> Iterator[str]:
    for late, among in ((silence.late, "a few"), (storm.late, f"{storm.total}")):
        if late > LATE_AT_MOST:
            yield f"{story.name} was {late:.2f} s late among {among}"


def find_wrong(story: Story, silence: Silence, storm: Storm) -> Iterator[str]:
    for asked, when in (
        (silence.others, "for nobody's need"),
        (storm.asked, "in a storm"),
        (storm.stale, "and left it stale after a storm"),
    ):
        if asked:
            yield f"{story.name} asked for {len(asked)} {when}, such as {min(asked)}"


if __name__ == "__main__":
    sys.exit(main())
