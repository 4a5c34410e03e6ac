"""Fixes removed, one at a time: the attacks of that finding must notice.

A mutant replaces a text of the source tree by another, in a copy of the tree. Only the tests that replay the
finding count: those without a real control plane run first.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from conformance.marked_tests import ROOT, MarkedTest

MUTANTS: Final = Path(__file__).with_name("mutants.yaml")
_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "dist")
_WITHIN: Final = 900.0
_FAILED: Final = 1
"""pytest's exit status if a test failed. With any other status no test has noticed."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`old` occurs once in `file`, and is replaced by `new`."""

    finding: str
    name: str
    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Hunted:
    """`caught_by` is the first test that failed; empty if none did."""

    mutant: Mutant
    caught_by: str


def read_mutants() -> list[Mutant]:
    return msgspec.yaml.decode(MUTANTS.read_bytes(), type=list[Mutant])


def hunt_all(tests: Mapping[str, MarkedTest], *, real: bool, only: str) -> Iterator[Hunted]:
    """`only` is a finding, or a part of a mutant's name; empty for all."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=_LEFT_OUT)
        for mutant in read_mutants():
            if only in (mutant.finding, "") or only in mutant.name:
                yield _hunt(mutant, tree, tests, real=real)


def _hunt(mutant: Mutant, tree: Path, tests: Mapping[str, MarkedTest], *, real: bool) -> Hunted:
    file = tree / mutant.file
    whole = file.read_text()
    if whole.count(mutant.old) != 1:
        raise ValueError(
            f"{mutant.name}: {mutant.file} has its text {whole.count(mutant.old)} times, not once"
        )
    file.write_text(whole.replace(mutant.old, mutant.new))
    try:
        for needs_plane in (False, True)[: 1 + real]:
            playing = [
                node
                for node, test in tests.items()
                if mutant.finding in test.rows and test.real == needs_plane
            ]
            if caught := _first_failure(tree, playing):
                return Hunted(mutant, caught)
        return Hunted(mutant, "")
    finally:
        file.write_text(whole)


def _first_failure(tree: Path, nodes: Sequence[str]) -> str:
    if not nodes:
        return ""
    paths = os.pathsep.join(str(tree / part) for part in ("src", "tools", ""))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *nodes],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_WITHIN,
        check=False,
    )
    if done.returncode != _FAILED:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    # An error before the test itself, for example in an import, does not count as noticing the attack.
    return failed[0].split()[1] if failed else ""
