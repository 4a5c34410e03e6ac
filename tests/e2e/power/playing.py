"""Many rounds at once, one per cell, until all have run."""

import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from tests.e2e.power.node_pair import Cell
from tests.e2e.power.round import Round, Story, WrongError


@dataclass(frozen=True, slots=True)
class Played:
    story: str
    seconds: float
    releases: int
    wrong: str = ""


def play_all(cells: Sequence[Cell], stories: Sequence[Story]) -> list[Played]:
    """Run all stories. A cell with a failed round runs no further ones, since their results would be useless.

    Without a cell nothing runs.
    """
    waiting: SimpleQueue[Story] = SimpleQueue()
    for story in stories:
        waiting.put(story)
    whole = [cell for cell in cells if not cell.broken]
    with ThreadPoolExecutor(max(len(whole), 1)) as hands:
        lanes = [hands.submit(_play_in, cell, waiting) for cell in whole]
        return [played for lane in lanes for played in lane.result()]


def _play_in(cell: Cell, waiting: "SimpleQueue[Story]") -> list[Played]:
    done: list[Played] = []
    while not cell.broken:
        try:
            story = waiting.get_nowait()
        except Empty:
            break
        done.append(_play(cell, story))
        cell.broken = bool(done[-1].wrong)
        _tell(cell, done[-1])
    return done


def _play(cell: Cell, story: Story) -> Played:
    began, releases, wrong = time.monotonic(), 0, ""
    try:
        round_ = Round.begin(cell)
        story.play(round_)
        round_.evaluate()
        releases = len(round_.releases())
    except (WrongError, TimeoutError) as error:
        wrong = str(error)
    except Exception:  # noqa: BLE001 - a bug of the story itself, with its traceback
        wrong = traceback.format_exc()
    return Played(story.name, time.monotonic() - began, releases, wrong)


def _tell(cell: Cell, played: Played) -> None:
    how = f"WRONG: {played.wrong}" if played.wrong else f"{played.releases} released"
    print(f"{played.seconds:6.1f} s  {cell.name}  {played.story}: {how}", flush=True)
