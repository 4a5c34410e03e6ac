"""Runs the tests against one mutant in a child process. Nothing on disk is changed."""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import re
import resource
import signal
import sys
import types
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from mutants.operators import Mutant


@dataclass(frozen=True, slots=True)
class Hunter:
    """One kind of test. `within`, in CPU seconds, is many times its duration on unbroken code.

    A mutant that exceeds it never ends, regardless of the machine's load.
    """

    kind: str
    paths: tuple[str, ...]
    within: int


ROOT: Final = Path(__file__).resolve().parents[2]
UNIT: Final = Path("tests/unit")
OWN: Final = "own tests"
SLEEPING: Final = 20
"""Times that, by wall-clock time: then it waits forever."""
# Cheapest first: most mutants die at once, by their module's tests.
HUNTERS: Final = (
    Hunter("decisions", ("tests/unit/protocol", "tests/unit/safety", "tests/unit/rules"), 240),
    Hunter(
        "controllers",
        (
            "tests/unit/guard",
            "tests/unit/health",
            "tests/unit/records",
            "tests/unit/remediation",
            "tests/unit/signer",
        ),
        900,
    ),
    Hunter("scenarios", ("tests/scenarios",), 400),
    Hunter("simulation", ("tests/simulation/walking_path",), 900),
)


class Impostor(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutated source when its module is imported."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._mutant.source, f"<{self._mutant.name}>", "exec"), module.__dict__)  # noqa: S102


def warm_up() -> None:
    """Import the tests' third-party modules once, before the forks: this would be most of a hunt's time."""
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):  # noqa: PTH123
        status = pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", *HUNTERS[0].paths])
    if status:
        raise RuntimeError(f"pytest cannot collect {HUNTERS[0].paths}: status {status}")


def hunt(mutant: Mutant, only: Container[str] | None = None) -> str:
    """The kind of test that caught it; empty if none did. `only` restricts the kinds."""
    for hunter in (*_own(mutant), *HUNTERS):
        if only is not None and hunter.kind not in only:
            continue
        child = multiprocessing.get_context("fork").Process(target=_run, args=(mutant, hunter))
        child.start()
        child.join(hunter.within * SLEEPING)
        if child.is_alive():
            child.kill()
            child.join()
            return f"{hunter.kind} (never ends)"
        if child.exitcode == -signal.SIGXCPU:
            return f"{hunter.kind} (never ends)"
        if child.exitcode != 0:
            return hunter.kind
    return ""


def _own(mutant: Mutant) -> list[Hunter]:
    paths = own_tests(mutant.module)
    return [Hunter(OWN, paths, 240)] if paths else []


def own_tests(module: str) -> tuple[str, ...]:
    """The test files that import the module, in the folder of tests/unit that mirrors its package."""
    package, _, name = module.removeprefix("nodemend.").rpartition(".")
    names_it = re.compile(rf"\bnodemend\.{re.escape(package)}(\.| import (.*\b)?){name}\b")
    folder = UNIT / package.replace(".", "/")
    files = sorted((ROOT / folder).glob("test_*.py"))
    return tuple(str(folder / one.name) for one in files if names_it.search(one.read_text()))


IMPORTED_AGAIN: Final = ("nodemend", "simulation", "tests")
"""The packages that a hunt imports again: each of their modules may have imported the unchanged code."""


def _run(mutant: Mutant, hunter: Hunter) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (hunter.within, hunter.within + 5))
    for name in [name for name in sys.modules if name.partition(".")[0] in IMPORTED_AGAIN]:
        del sys.modules[name]
    sys.meta_path.insert(0, Impostor(mutant))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    # The hypothesis profile for CI: no deadlines, which a busy machine misses, and the same examples for each
    # mutant.
    os._exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=ci", *hunter.paths]))
