"""Statements of README.md and SAFETY.md about the rest of the repository are true."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from campaign_power.mutants import read_mutants
from generate.outputs import CHART
from nodemend.cli.check.assess import OLDEST_SERVER
from tests.tidy.source_tree import ROOT, name_of, parse, python_files

OLDEST = ".".join(str(number) for number in OLDEST_SERVER)
SAFETY = (ROOT / "SAFETY.md").read_text()


@pytest.mark.attack("F3")
@pytest.mark.parametrize("page", ["README.md", "deploy/README.md"])
def test_a_page_names_the_oldest_kubernetes_that_check_accepts(page: str) -> None:
    assert re.findall(r"Kubernetes (1\.\d+)", (ROOT / page).read_text()) == [OLDEST]


@pytest.mark.attack("F3")
def test_the_chart_refuses_every_older_kubernetes_and_mentions_none() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={OLDEST}.0-0"
    assert re.findall(r"\b1\.\d\d\b", (CHART / "values.yaml").read_text()) == []


def test_safety_names_what_is_there() -> None:
    named = re.findall(
        r"`((?:tests|tools|src|simulation|safety|protocol|guard|health|remediation|records|kube|agent|api)/[\w/.]+?)(?:::(\w+))?`",
        SAFETY,
    )
    assert named
    assert [path for path, _ in named if not _places(path)] == []
    assert [name for path, name in named if name and f"def {name}(" not in (ROOT / path).read_text()] == []


def test_the_recipes_that_safety_names_are_there() -> None:
    recipes = re.findall(r"^([\w-]+)(?: [^:\n]*)?:", (ROOT / "justfile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`just ([\w-]+)", SAFETY)) <= set(recipes)


def test_the_rules_that_safety_takes_away_are_mutants_with_these_tests() -> None:
    rows = re.findall(r"^\| I\d+ \| ([^|`]+) \| [^|]+ \| `([^|`]+::[^|`]+)` \|$", SAFETY, re.MULTILINE)
    tests = {one.name: one.tests for one in read_mutants()}
    assert len(rows) > 10
    assert [(rule, test) for rule, test in rows if test not in tests.get(rule, ())] == []


def test_only_statuses_of_checks_and_of_the_policy_are_applied() -> None:
    """`apply` has no precondition on a version. The first of these modules uses it only in dry runs."""
    users = [name_of(path) for path in python_files("src") if _applies(path)]
    assert users == [
        "src/nodemend/guard/policy_proof.py",
        "src/nodemend/health/machine/preflight.py",
        "src/nodemend/health/node/preflight.py",
    ]


def test_unit_tests_have_the_folders_of_the_source() -> None:
    files = [one.relative_to(ROOT / "tests" / "unit") for one in (ROOT / "tests" / "unit").rglob("test_*.py")]
    # link_matrices tests a calculation that only other tests use, so it has no source folder.
    folders = {one.parent for one in files if one.parts[0] not in ("link_matrices", "simulation")}
    assert len(folders) > 1
    places = [ROOT / "src" / "nodemend" / one for one in folders]
    assert [one for one in places if not (one.is_dir() or one.with_suffix(".py").is_file())] == []


def _applies(path: Path) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "nodemend.kube.request"
        and any(alias.name == "apply" for alias in node.names)
        for node in ast.walk(parse(path))
    )


def _places(path: str) -> list[Path]:
    candidates = [ROOT / path, ROOT / "src" / "nodemend" / path, ROOT / "src" / "nodemend" / f"{path}.py"]
    return [one for one in candidates if one.exists()]
