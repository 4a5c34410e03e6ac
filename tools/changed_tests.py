"""`python -m changed_tests [--since REF]`: the fast tests of the files that differ from a commit (HEAD).

A module's tests are the files named after it in its mirrored folder; without one, the whole folder.
"""

import argparse
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_MIRRORED: Final = {"src/nodemend": "tests/unit", "simulation": "tests/unit/simulation"}
_SLOW_KINDS: Final = ("integration", "e2e", "campaigns", "models", "simulation")


def tests_of(
    changed: Iterable[str], exists: Callable[[str], bool], named: Callable[[str, str], list[str]]
) -> list[str]:
    """Paths for pytest, none inside another; `named(folder, stem)` lists a module's tests in a folder."""
    found = {path for file in changed for path in _tests_of_file(file, exists, named)}
    return sorted(
        path for path in found if not any(str(above) in found for above in PurePosixPath(path).parents)
    )


def _tests_of_file(
    file: str, exists: Callable[[str], bool], named: Callable[[str, str], list[str]]
) -> Iterator[str]:
    path = PurePosixPath(file)
    if path.parts[0] == "tests" and len(path.parts) > 1:
        yield from _of_test_file(path, exists)
        return
    for source, tests in _MIRRORED.items():
        if path.suffix == ".py" and path.is_relative_to(source):
            folder = PurePosixPath(tests) / path.relative_to(source).parent
            yield from named(str(folder), path.stem) or _nearest(folder, exists)


def _of_test_file(path: PurePosixPath, exists: Callable[[str], bool]) -> Iterator[str]:
    """A test itself; for a helper, its folder; for a golden file, the folder above "golden".

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
        above_golden = itertools.takewhile(lambda part: part != "golden", path.parent.parts)
        yield str(PurePosixPath(*above_golden))


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", default="HEAD", help="a commit (HEAD)")
    chosen = tests_of(_changed(parser.parse_args().since), lambda path: (ROOT / path).exists(), _named)
    if not chosen:
        print("no test belongs to what changed")
        return 0
    print(f"tests of what changed: {' '.join(chosen)}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *chosen]
    # pytest exits with 5 if it selects no test: all tests of the change are slow.
    return 0 if (status := subprocess.run(command, cwd=ROOT, check=False).returncode) == 5 else status


if __name__ == "__main__":
    sys.exit(main())
