"""Runs the tests against one mutant in a child process. Nothing on disk is changed."""

import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
import types
from collections.abc import Sequence
from typing import Final

import pytest

from mutants.operators import Mutant

TOO_LONG: Final = 300.0

# Cheapest first: most mutants die at once.
HUNTERS: Final = (
    ("unit", ("tests/unit/decide", "tests/unit/controllers")),
    ("scenarios", ("tests/scenarios",)),
    ("simulation", ("tests/simulation/walking_path",)),
)


class _Impostor(importlib.abc.MetaPathFinder, importlib.abc.Loader):
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


def hunt(mutant: Mutant) -> str:
    """Which kind of test caught it; empty when none did."""
    for kind, paths in HUNTERS:
        child = multiprocessing.get_context("fork").Process(target=_run, args=(mutant, paths))
        child.start()
        child.join(TOO_LONG)
        if child.is_alive():
            child.kill()
            child.join()
            return f"{kind} (never ends)"
        if child.exitcode != 0:
            return kind
    return ""


def _run(mutant: Mutant, paths: tuple[str, ...]) -> None:
    for name in [name for name in sys.modules if name.startswith(("nodemend", "tests"))]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Impostor(mutant))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os._exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *paths]))
