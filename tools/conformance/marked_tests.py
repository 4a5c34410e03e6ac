"""The tests with the mark: found, and run, by pytest in a separate process."""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from conformance.marks_plugin import MARK

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("unit", "scenarios", "simulation", "tidy", "integration")
FOUND_WITHIN, RUN_WITHIN = 300.0, 3600.0
PASSED, NOTHING_TO_RUN = 0, 5


class MarkedTest(msgspec.Struct, frozen=True):
    """One case of a test. `name` is file::name, the same for all cases unless the case itself is marked."""

    rows: list[str]
    name: str
    real: bool


class Notes(msgspec.Struct, frozen=True):
    """The notes of the pytest plugin.

    `collected` has for every test whether it needs a real control plane.
    """

    tests: dict[str, MarkedTest]
    collected: dict[str, bool]
    endings: dict[str, str]


class PytestError(Exception):
    """pytest could not even collect. Carries the end of its output."""


def find_tests(folders: Iterable[str] = FOLDERS, mark: str = MARK) -> dict[str, MarkedTest]:
    """By node id. A file that does not name the mark has none."""
    files = sorted(
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / "tests" / folder).rglob("test_*.py")
        if mark in path.read_text()
    )
    if not files:
        return {}
    done, notes = call_pytest(FOUND_WITHIN, "--collect-only", "-q", "-m", mark, *files, mark=mark)
    if done.returncode not in (PASSED, NOTHING_TO_RUN):
        raise PytestError(done.stdout[-4000:])
    return notes.tests


def run_tests(tests: Mapping[str, MarkedTest], *, real: bool, mark: str = MARK) -> dict[str, str]:
    """The outcome of each case, by node id; a case that pytest does not report did not run."""
    chosen = {node: test for node, test in tests.items() if test.real == real}
    if not chosen:
        return {}
    files = sorted({node.partition("::")[0] for node in chosen})
    which = f"{mark} and {'real' if real else 'not real'}"
    side_by_side = () if real else ("-n", "2")
    done, notes = call_pytest(RUN_WITHIN, "-q", *side_by_side, "-m", which, *files, mark=mark)
    print(done.stdout[-4000:] if done.returncode != PASSED else done.stdout.splitlines()[-1], flush=True)
    return {node: notes.endings.get(node, "not run") for node in chosen}


def call_pytest(
    within: float, *arguments: str, mark: str = MARK
) -> tuple[subprocess.CompletedProcess[str], Notes]:
    """Run pytest in a separate process. Raises PytestError if it produced no notes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "notes.json"
        plugin = (
            "-p",
            "conformance.marks_plugin",
            "--conformance-notes",
            str(file),
            "--conformance-mark",
            mark,
        )
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=within,
            check=False,
        )
        if not file.exists():
            raise PytestError(done.stdout[-4000:])
        return done, msgspec.json.decode(file.read_bytes(), type=Notes)
