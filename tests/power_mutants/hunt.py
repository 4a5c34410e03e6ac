"""`python -m tests.power_mutants.hunt NUMBER SEEDS`: plays seeds with a mistake in the code until one breaks.

Prints the seed, or nothing when none of them did.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
import warnings
from collections.abc import Sequence

from tests.power_mutants.by_hand import MISTAKES, Mistake


class Impostor(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the source with the mistake when its module is imported."""

    def __init__(self, mistake: Mistake) -> None:
        self._name = f"nodemend.decide.{mistake.module}"
        self._source = mistake.source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._source, f"<{self._name}>", "exec"), module.__dict__)  # noqa: S102


def main(number: int, seeds: int) -> None:
    warnings.simplefilter("ignore")
    sys.meta_path.insert(0, Impostor(MISTAKES[number]))
    from tests.simulation.power.run import play  # noqa: PLC0415 - only now is the mistake in it

    for seed in range(seeds):
        if broken := play(seed).broken:
            print(f"seed {seed}: {broken}")
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
