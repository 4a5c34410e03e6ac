"""Files and functions stay small enough to read, and have descriptive names."""

import ast
from pathlib import Path

import pytest

from tests.tidy.source_tree import name_of, parse, python_files

SOURCES = python_files("src", "simulation")
TESTS = python_files("tests")
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "misc"}
MOST_LINES, MOST_TEST_LINES, MOST_FUNCTION_LINES = 700, 700, 50


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    found = ast.walk(parse(path))
    return [node for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize(
    ("paths", "most"), [(SOURCES, MOST_LINES), (TESTS, MOST_TEST_LINES)], ids=["src", "tests"]
)
def test_no_file_is_too_long(paths: list[Path], most: int) -> None:
    long = {name_of(path): lines for path in paths if (lines := len(path.read_text().splitlines())) > most}
    assert not long


def test_no_function_is_too_long() -> None:
    long = {
        f"{name_of(path)}:{node.lineno} {node.name}": length(node)
        for path in SOURCES
        for node in functions(path)
        if length(node) > MOST_FUNCTION_LINES
    }
    assert not long


def test_functions_are_mostly_short() -> None:
    lengths = sorted(length(node) for path in SOURCES for node in functions(path))
    assert lengths[len(lengths) * 9 // 10] <= 30


def test_no_module_is_a_drawer() -> None:
    named = {part for path in SOURCES for part in (*path.parts, path.stem)}
    assert not FORBIDDEN & named
    assert not [name_of(path) for path in SOURCES if path.stem.endswith(("_helper", "_utils"))]


def test_every_module_has_a_docstring() -> None:
    assert not [name_of(path) for path in SOURCES if not ast.get_docstring(parse(path))]
