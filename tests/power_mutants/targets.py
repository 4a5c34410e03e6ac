"""What is broken on purpose: the code that decides about power, and about releases on it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mutants.operators import Mutant, mutants_of

DECIDE: Final = Path(__file__).parents[2] / "src" / "nodemend" / "decide"
KNOWN: Final = Path(__file__).with_name("survivors.txt")
_PATTERNS: Final = (
    "power_cycle*.py",
    "host_*.py",
    "node_deletion.py",
    "node_backup.py",
    "fence_evidence.py",
    "release_gate.py",
    "remediation_life.py",
    "remediation_steps.py",
)
PATHS: Final = tuple(path for pattern in _PATTERNS for path in sorted(DECIDE.glob(pattern)))


def module_of(path: Path) -> str:
    return f"nodemend.decide.{path.stem}"


def all_mutants() -> Iterator[Mutant]:
    for path in PATHS:
        yield from mutants_of(path, module_of(path))
