"""Runs scenarios and seeds against a mutant in a child process. No file is changed."""

import ast
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from mutants.hunt import Impostor
from mutants.operators import Mutant

CPU_SECONDS: Final = 240
"""CPU limit of one hunt, many times that of the longest: a mutant that exceeds it never ends."""
NEVER_ENDS: Final = "never ends"


@dataclass(frozen=True, slots=True)
class Quarry:
    """A mutant, and what to run against it: these scenarios first, then these seeds."""

    mutant: Mutant
    stories: tuple[Path, ...]
    seeds: range


def hunt(quarry: Quarry) -> str:
    """Return the scenario or seed that noticed the mutant; empty if none did."""
    ours, theirs = get_context("fork").Pipe(duplex=False)
    child = get_context("fork").Process(target=_run, args=(quarry, dependents(quarry.mutant.module), theirs))
    child.start()
    theirs.close()
    try:
        caught: str = ours.recv()
    except EOFError:
        caught = NEVER_ENDS
    child.join()
    return caught


def _run(quarry: Quarry, doomed: set[str], answer: Connection) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    for name in doomed:
        _forget(name)
    sys.meta_path.insert(0, Impostor(quarry.mutant))
    answer.send(_first_to_notice(quarry))
    answer.close()
    os._exit(0)


def _forget(name: str) -> None:
    """Remove a module from `sys.modules` and from its package, which refers to it, too."""
    package, _, last = name.rpartition(".")
    vars(sys.modules[package]).pop(last, None)
    del sys.modules[name]


def _first_to_notice(quarry: Quarry) -> str:
    """Return the first scenario or seed that noticed the mutant; empty if none did.

    Any exception counts as noticing, because a mutant may raise any exception anywhere.
    """
    for noticed, name in _watchers(quarry):
        try:
            if noticed():
                return name
        except Exception as error:  # noqa: BLE001 - see above
            return f"{name} ({type(error).__name__})"
    return ""


def _watchers(quarry: Quarry) -> Iterable[tuple[Callable[[], bool], str]]:
    for path in quarry.stories:
        yield lambda path=path: _tells_another_story(path), f"scenario {path.stem}"  # type: ignore[misc]
    for seed in quarry.seeds:
        yield lambda seed=seed: _breaks(seed), f"seed {seed}"  # type: ignore[misc]


def _tells_another_story(path: Path) -> bool:
    reader = importlib.import_module("simulation.scenario.reader")
    story_text = importlib.import_module("tests.scenarios.playing")
    scenario = reader.read(path.read_text())
    return bool(story_text.tell(scenario) != scenario.log_lines)


def _breaks(seed: int) -> bool:
    return bool(importlib.import_module("tests.simulation.power.run").play(seed).broken)


def dependents(module: str) -> set[str]:
    """Return the module and the loaded modules that import it, directly or indirectly."""
    ours = ("nodemend.", "simulation.", "tests.")
    imports = {name: _imports(name) for name in sys.modules if name.startswith(ours)}
    doomed = {module}
    while more := {name for name, wants in imports.items() if wants & doomed} - doomed:
        doomed |= more
    return doomed & sys.modules.keys()


@cache
def _imports(name: str) -> set[str]:
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        return set()
    found = set()
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found
