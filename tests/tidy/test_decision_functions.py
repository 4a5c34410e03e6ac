"""The functions that are held pure and broken by mutants: none leaves without a change of the golden list."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.power_mutants.targets import PATHS
from tests.tidy.source_tree import ROOT, parse

GOLDEN = Path(__file__).with_name("golden") / "decision_functions.txt"


def contract(forbidden: str) -> list[str]:
    """The modules that one contract of import-linter holds, as far as they may not import this."""
    contracts: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]["contracts"]
    [modules] = [
        one["source_modules"]
        for one in contracts
        if one["type"] == "forbidden" and forbidden in one["forbidden_modules"]
    ]
    return list(modules)


def files_of(modules: list[str]) -> list[Path]:
    places = [ROOT / "src" / name.replace(".", "/") for name in modules]
    return [
        file
        for place in places
        for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")])
    ]


def functions(node: ast.AST, inside: str = "") -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name
            yield from functions(child, f"{name}.")
        else:
            yield from functions(child, inside)


def listed() -> str:
    held = {
        "pure": files_of(contract("random")),
        "mutated": files_of(contract("msgspec")),
        "power-mutated": list(PATHS),
    }
    lines = sorted(
        f"{kind} {name}" for kind, files in held.items() for file in files for name in functions(parse(file))
    )
    return "".join(f"{line}\n" for line in lines)


def test_no_function_has_left() -> None:
    """`python -m tests.tidy.test_decision_functions` writes the list; its difference is to be read."""
    assert listed() == GOLDEN.read_text()


@pytest.mark.parametrize("kind", ["pure", "mutated", "power-mutated"])
def test_each_kind_has_functions(kind: str) -> None:
    assert sum(line.startswith(f"{kind} ") for line in listed().splitlines()) > 100


if __name__ == "__main__":
    GOLDEN.write_text(listed())
