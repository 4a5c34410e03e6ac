"""The deliberate breakages can be made in today's tree, and what CI must complain about exists."""

import re
import tomllib

import pytest

from breakages.__main__ import BREAKAGES, Breakage
from tests.tidy.source_tree import ROOT

NAMES = [one.name for one in BREAKAGES]


@pytest.mark.parametrize("breakage", BREAKAGES, ids=NAMES)
def test_the_text_to_break_is_in_its_file_once(breakage: Breakage) -> None:
    assert (ROOT / breakage.file).read_text().count(breakage.old) == 1
    assert breakage.new != breakage.old


@pytest.mark.parametrize("breakage", BREAKAGES, ids=NAMES)
def test_paths_tests_and_contracts_that_ci_must_name_exist(breakage: Breakage) -> None:
    paths = re.findall(r"\b(?:tests|src|simulation)/[\w/.]+", breakage.complains)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    for test in re.findall(r"\btest_\w+", breakage.complains):
        folder = (ROOT / breakage.file).parent.parent
        assert [path for path in folder.rglob("test_*.py") if f"def {test}(" in path.read_text()], test
    for contract in re.findall(r"(.*) BROKEN", breakage.complains):
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        assert contract in {one["name"] for one in known}
