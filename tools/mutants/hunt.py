"""Runs the tests against one mutant in a child process. Nothing on disk is changed."""

import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from mutants.operators import Mutant


@dataclass(frozen=True, slots=True)
class Hunter:
    """One kind of test. `within` is many times what it takes on unbroken code: past it, nothing will end."""

    kind: str
    paths: tuple[str, ...]
    within: float


# Cheapest first: most mutants die at once.
HUNTERS: Final = (
    Hunter("decide", ("tests/unit/decide",), 90.0),
    Hunter("controllers", ("tests/unit/controllers",), 600.0),
    Hunter("scenarios", ("tests/scenarios",), 200.0),
    Hunter("simulation", ("tests/simulation/walking_path",), 900.0),
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


def hunt(mutant: Mutant) -> str:
    """Which kind of test caught it; empty when none did."""
    for hunter in HUNTERS:
        child = multiprocessing.get_context("fork").Process(target=_run, args=(mutant, hunter.paths))
        child.start()
        child.join(hunter.within)
        if child.is_alive():
            child.kill()
            child.join()
            return f"{hunter.kind} (never ends)"
        if child.exitcode != 0:
            return hunter.kind
    return ""


def _run(mutant: Mutant, paths: tuple[str, ...]) -> None:
    for name in [name for name in sys.modules if name.startswith(("nodemend", "tests"))]:
        del sys.modules[name]
    sys.meta_path.insert(0, Impostor(mutant))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os._exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *paths]))
