"""`python -m changed_tests [--since REF]`: the fast tests of the files that differ from a commit (HEAD).

A module's tests are the files named after it in its mirrored folder; without one, those that import it, or
that import a module through which it is used; without these, the whole folder.
"""

import argparse
import ast
import functools
import itertools
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from structure.modules import SourceTree, module_name, modules_imported, read_tree

ROOT: Final = Path(__file__).resolve().parents[1]
_MIRRORED: Final = {"src/nodemend": "tests/unit", "simulation": "tests/unit/simulation"}
_PRODUCT: Final = ROOT / "src/nodemend"
_SLOW_KINDS: Final = ("integration", "e2e", "campaigns", "models", "simulation")


def tests_of(
    changed: Iterable[str],
    exists: Callable[[str], bool],
    named: Callable[[str, str], list[str]],
    using: Callable[[str], list[str]],
) -> list[str]:
    """Paths for pytest, none inside another.

    `named(folder, stem)` lists a module's tests in a folder, `using(file)` the tests that import it.
    """
    found = {path for file in changed for path in _tests_of_file(file, exists, named, using)}
    return sorted(
        path for path in found if not any(str(above) in found for above in PurePosixPath(path).parents)
    )


def _tests_of_file(
    file: str,
    exists: Callable[[str], bool],
    named: Callable[[str, str], list[str]],
    using: Callable[[str], list[str]],
) -> Iterator[str]:
    path = PurePosixPath(file)
    if path.parts[0] == "tests" and len(path.parts) > 1:
        yield from _of_test_file(path, exists)
        return
    for source, tests in _MIRRORED.items():
        if path.suffix == ".py" and path.is_relative_to(source):
            folder = PurePosixPath(tests) / path.relative_to(source).parent
            yield from named(str(folder), path.stem) or using(file) or _nearest(folder, exists)


def _of_test_file(path: PurePosixPath, exists: Callable[[str], bool]) -> Iterator[str]:
    """A test itself; for a helper, its folder; for a golden file, the test of its name above
    "golden", or else that folder.

    Slow kinds have their own recipes.
    """
    if len(path.parts) < 3 or path.parts[1] in _SLOW_KINDS or not exists(str(path.parent)):
        return
    if path.name.startswith("test_") and path.suffix == ".py":
        if exists(str(path)):
            yield str(path)
    elif path.parts[1] == "scenarios":
        yield "tests/scenarios"
    else:
        above_golden = PurePosixPath(*itertools.takewhile(lambda part: part != "golden", path.parent.parts))
        same_name = above_golden / f"test_{path.stem}.py"
        yield str(same_name if "golden" in path.parts and exists(str(same_name)) else above_golden)


def _nearest(folder: PurePosixPath, exists: Callable[[str], bool]) -> Iterator[str]:
    while not exists(str(folder)):
        folder = folder.parent
    if folder != PurePosixPath("tests/unit"):
        yield str(folder)


def _changed(since: str) -> list[str]:
    def lines(*command: str) -> list[str]:
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    return lines("git", "diff", "--name-only", since) + lines(
        "git", "ls-files", "--others", "--exclude-standard"
    )


def _named(folder: str, stem: str) -> list[str]:
    return [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / folder).glob("test_*.py"))
        if file.stem == f"test_{stem}" or file.stem.startswith(f"test_{stem}_")
    ]


def nearest_users(
    module: str, imports: Mapping[str, Collection[str]], importers: Callable[[str], Collection[str]]
) -> list[str]:
    """The test files that import a module, or a module that imports it, and so on: the first that there are.

    `imports` has the modules that each test file imports.
    """
    seen, level = {module}, {module}
    while level:
        if users := sorted(file for file, modules in imports.items() if not level.isdisjoint(modules)):
            return users
        level = {one for known in level for one in importers(known)} - seen
        seen |= level
    return []


@functools.cache
def _product() -> SourceTree:
    return read_tree(_PRODUCT)


@functools.cache
def _imports_of_tests() -> dict[str, frozenset[str]]:
    known = frozenset(_product().lines)
    return {
        str(file.relative_to(ROOT)): frozenset(modules_imported(ast.parse(file.read_text()), known))
        for file in (ROOT / "tests/unit").rglob("test_*.py")
    }


def _using(file: str) -> list[str]:
    if not (ROOT / file).is_relative_to(_PRODUCT):
        return []

    def importers(module: str) -> set[str]:
        return {one.importer for one in _product().imports if one.imported == module}

    return nearest_users(module_name(_PRODUCT, ROOT / file), _imports_of_tests(), importers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", default="HEAD", help="a commit (HEAD)")
    chosen = tests_of(
        _changed(parser.parse_args().since), lambda path: (ROOT / path).exists(), _named, _using
    )
    if not chosen:
        print("no test belongs to what changed")
        return 0
    print(f"tests of what changed: {' '.join(chosen)}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *chosen]
    # pytest exits with 5 if it selects no test: all tests of the change are slow.
    return 0 if (status := subprocess.run(command, cwd=ROOT, check=False).returncode) == 5 else status


if __name__ == "__main__":
    sys.exit(main())
