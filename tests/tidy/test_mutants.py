"""Every mutant of every campaign can be made in today's tree, and every test that hunts them exists.

`test_survivors`, `test_campaign_power` and `test_attacks` check the same for their lists.
"""

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from campaign_power.results import digest_of
from mutants.__main__ import decision_modules, module_name
from mutants.hunt import HUNTERS, IMPORTED_AGAIN, own_tests
from nodemend.cmd import agent
from tests.campaigns.border_fuzz import mutants as border_fuzz
from tests.campaigns.border_fuzz.__main__ import BORDERS
from tests.campaigns.outage import mutants as outage
from tests.campaigns.power_mutants.hunting import dependents
from tests.campaigns.restore import mutants as restore
from tests.e2e.self_fencing.lying_agent import REPLACED
from tests.e2e.watchdog import expected_results
from tests.simulation.leader_election import mutants as elector
from tests.tidy.source_tree import ROOT, SOURCE, parse, python_files

HUNTED = [path for hunter in HUNTERS for path in hunter.paths]
GUEST = Path(expected_results.__file__).parent / "guest"


@pytest.mark.parametrize("path", HUNTED)
def test_a_folder_that_hunts_has_tests(path: str) -> None:
    assert list((ROOT / path).rglob("test_*.py"))


@pytest.mark.parametrize("module", [module_name(path) for path in decision_modules()])
def test_the_unit_tests_of_every_decision_hunt_its_mutants(module: str) -> None:
    own = own_tests(module)
    assert own or module.endswith(".__init__")
    assert [path for path in own if not path.startswith(tuple(f"{folder}/" for folder in HUNTED))] == []


def test_every_package_that_a_hunt_runs_is_imported_again() -> None:
    """A module that stays imported keeps the unchanged code."""
    files = [*python_files(*HUNTED), *python_files("simulation", "tests/scenarios")]
    names = {name for path in files for name in re.findall(r"^from (\w+)", path.read_text(), re.MULTILINE)}
    ours = {name for name in names if (ROOT / name).is_dir()} | {"nodemend"}
    assert ours <= set(IMPORTED_AGAIN)


def test_the_simulation_is_imported_again_for_a_mutant_of_power() -> None:
    importlib.import_module("tests.simulation.power.run")
    found = dependents("nodemend.remediation.metal3.decide")
    assert {name.partition(".")[0] for name in found} == {"nodemend", "simulation", "tests"}


def test_a_change_of_the_simulation_makes_results_of_campaigns_void(tmp_path: Path) -> None:
    before = digest_of(tmp_path, ())
    for folder in ("src", "simulation"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("")
        before, after = digest_of(tmp_path, ()), before
        assert before != after


def test_the_recipe_for_mutants_of_fencing_selects_mutants() -> None:
    [selected] = re.findall(r"-m mutants .*--only ((?:.*\\\n)*.*)", (ROOT / "justfile").read_text())
    modules = [module_name(path) for path in decision_modules()]
    words = selected.replace("\\", "").split()
    assert len(words) > 5
    assert [word for word in words if not any(word in module for module in modules)] == []


@pytest.mark.parametrize("mutant", border_fuzz.MUTANTS, ids=lambda one: one.what)
def test_a_parser_can_be_broken_and_its_border_exists(mutant: border_fuzz.Mutant) -> None:
    assert (SOURCE / mutant.file).read_text().count(mutant.old) == 1
    assert [one.name for one in BORDERS if mutant.border in one.name]


@pytest.mark.parametrize("mutant", elector.MUTANTS, ids=lambda one: one.name)
def test_a_rule_of_the_elector_can_be_broken(mutant: elector.Mutant) -> None:
    assert (SOURCE / "kube" / f"{mutant.module}.py").read_text().count(mutant.line) == 1


def test_every_bug_of_outages_replaces_something(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = [(one.args[0], one.args[1]) for one in outage.MUTANTS.values()]  # type: ignore[attr-defined]
    assert len(replaced) == len(outage.MUTANTS)
    assert [(owner, name) for owner, name in replaced if not hasattr(owner, name)] == []


@pytest.mark.parametrize("name", restore.MUTANTS)
def test_every_bug_of_restores_replaces_something(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced: list[tuple[Any, str]] = []
    monkeypatch.setattr(restore, "_replace", lambda where, name, _: replaced.append((where, name)))
    restore.MUTANTS[name]()
    assert replaced
    assert [(where, name) for where, name in replaced if not hasattr(where, name)] == []


def test_a_lying_agent_replaces_parts_of_the_agent() -> None:
    assert [name for name in REPLACED if not hasattr(agent, name)] == []
    assert [name for name, ours in REPLACED.items() if not issubclass(ours, getattr(agent, name))] == []


def test_every_watchdog_story_runs_in_the_guest() -> None:
    reported = {one.name for one in parse(GUEST / "stories.py").body if isinstance(one, ast.FunctionDef)}
    assert {one.name for one in expected_results.STORIES} == reported


@pytest.mark.parametrize("name", ["failing_feeder", "hanging_feeder"])
def test_a_feeder_in_a_guest_finds_the_shipped_modules(name: str) -> None:
    """The guest's Python has no other path to them."""
    lines = (GUEST / f"{name}.py").read_text().splitlines()
    [path] = [number for number, line in enumerate(lines) if line.startswith("sys.path.insert(")]
    imports = [number for number, line in enumerate(lines) if line.startswith("from nodemend.")]
    assert imports
    assert path < min(imports)
