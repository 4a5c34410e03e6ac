"""The code to mutate: decisions about power, and about releases that rely on power off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mutants.operators import Mutant, mutants_of

SOURCE: Final = Path(__file__).parents[3] / "src"
KNOWN: Final = Path(__file__).with_name("survivors.txt")
_MODULES: Final = (
    "remediation/metal3/decide.py",
    "remediation/metal3/holds.py",
    "remediation/metal3/model.py",
    "remediation/metal3/power_table.py",
    "remediation/metal3/status.py",
    "remediation/status.py",
    "safety/host_power.py",
    "safety/identity.py",
    "safety/lifecycle.py",
    "safety/power_off.py",
    "safety/release.py",
)
PATHS: Final = tuple(SOURCE / "nodemend" / module for module in _MODULES)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def all_mutants() -> Iterator[Mutant]:
    for path in PATHS:
        yield from mutants_of(path, module_of(path))
