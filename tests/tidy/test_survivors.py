"""Every mutant that is listed as equivalent exists: a listed reason must not outlive its code."""

from functools import cache
from pathlib import Path

import pytest

from mutants.operators import mutants_of
from mutants.survivors import read_survivors
from tests.campaigns.power_mutants.by_hand import MISTAKES, Mistake
from tests.tidy.source_tree import ROOT, SOURCE

FILES = (
    ROOT / "tools" / "mutants" / "survivors.txt",
    ROOT / "tests" / "campaigns" / "power_mutants" / "survivors.txt",
)


@cache
def names_in(module: str) -> set[str]:
    path = SOURCE.parent / f"{module.replace('.', '/')}.py"
    return {mutant.name for mutant in mutants_of(path, module)}


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=["mutants", "power-mutants"])
def test_every_survivor_is_a_mutant(path: Path) -> None:
    survivors = read_survivors(path)
    assert survivors
    assert not [name for name in survivors if name not in names_in(module_in(name))]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_every_mistake_by_hand_can_be_made(mistake: Mistake) -> None:
    """`mutant` raises ValueError if the code that the bug replaces has changed."""
    assert mistake.mutant.name


def module_in(name: str) -> str:
    """Return the module of a mutant's name. After it come the place, if there is one, and the change."""
    return name.partition(" ")[0].partition(":")[0]
