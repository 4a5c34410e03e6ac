"""Measures the cost of scenarios and the lines of mutated code that each runs.

A scenario that never runs a line cannot notice a mutant of it, so it is skipped for that mutant.
"""

import ast
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, Final

from mutants.operators import Mutant
from simulation.scenario.reader import read
from tests.campaigns.power_mutants.targets import PATHS, module_of
from tests.scenarios.playing import FOLDER, tell

STORIES: Final = tuple(sorted((FOLDER / "power_cycle").glob("*.txt")))
_MODULES: Final = {str(path): module_of(path) for path in PATHS}
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Scouted:
    """A scenario, its CPU seconds, and the lines that it runs.

    `same` is True if its output equals the recorded one, as it must on unbroken code.
    """

    path: Path
    seconds: float
    places: frozenset[Place]
    same: bool


class Map:
    """Measured scenarios, the cheapest first."""

    def __init__(self, scouted: list[Scouted]) -> None:
        self._scouted = sorted(scouted, key=lambda one: one.seconds)
        self._functions = dict(_spans())

    def by(self, mutant: Mutant) -> list[Path]:
        """Return the scenarios that could notice the mutant.

        These run its line or, if none does, its function. If it is in no function, all scenarios could.
        """
        here = (mutant.module, mutant.line)
        span = self._functions.get(here)
        if span is None:
            return [one.path for one in self._scouted]
        passing = [one.path for one in self._scouted if here in one.places]
        around = {(mutant.module, line) for line in span}
        return passing or [one.path for one in self._scouted if around & one.places]


def scout(workers: int) -> list[Scouted]:
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        return list(pool.map(_scout, STORIES))


def _scout(path: Path) -> Scouted:
    places: set[Place] = set()

    def by_line(frame: FrameType, _event: str, _argument: Any) -> Any:
        places.add((_MODULES[frame.f_code.co_filename], frame.f_lineno))
        return by_line

    def by_call(frame: FrameType, event: str, argument: Any) -> Any:
        known = frame.f_code.co_filename in _MODULES
        return by_line(frame, event, argument) if known else None

    scenario, began = read(path.read_text()), time.process_time()
    sys.settrace(by_call)
    try:
        reported = tell(scenario)
    finally:
        sys.settrace(None)
    return Scouted(path, time.process_time() - began, frozenset(places), reported == scenario.log_lines)


def _spans() -> Iterator[tuple[Place, range]]:
    """Yield each line in a function, with all lines of that function. Inner functions follow outer ones."""
    for path in PATHS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                span = range(node.body[0].lineno, node.end_lineno + 1)
                for line in span:
                    yield (module_of(path), line), span
