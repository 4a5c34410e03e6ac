"""What README.md and SAFETY.md say of the rest of the repository is so."""

import re
from pathlib import Path

import pytest
import yaml

from generate.outputs import CHART
from nodemend.cli.check.assess import OLDEST_SERVER
from tests.tidy.source_tree import ROOT

OLDEST = ".".join(str(number) for number in OLDEST_SERVER)
SAFETY = (ROOT / "SAFETY.md").read_text()


@pytest.mark.attack("F3")
@pytest.mark.parametrize("page", ["README.md", "deploy/README.md"])
def test_a_page_names_the_oldest_kubernetes_that_check_accepts(page: str) -> None:
    assert re.findall(r"Kubernetes (1\.\d+)", (ROOT / page).read_text()) == [OLDEST]


@pytest.mark.attack("F3")
def test_the_chart_refuses_every_older_kubernetes_and_speaks_of_none() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">={OLDEST}.0-0"
    assert re.findall(r"\b1\.\d\d\b", (CHART / "values.yaml").read_text()) == []


def test_safety_names_what_is_there() -> None:
    named = re.findall(r"`((?:tests|src|decide|controllers|kube|agent)/[\w/.]+?)(?:::(\w+))?`", SAFETY)
    assert named
    assert [path for path, _ in named if not _places(path)] == []
    assert [name for path, name in named if name and f"def {name}(" not in (ROOT / path).read_text()] == []


def test_the_recipes_that_safety_names_are_there() -> None:
    recipes = re.findall(r"^([\w-]+)(?: [^:\n]*)?:", (ROOT / "justfile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`just ([\w-]+)", SAFETY)) <= set(recipes)


def test_unit_tests_have_the_folders_of_the_source() -> None:
    files = [one.relative_to(ROOT / "tests" / "unit") for one in (ROOT / "tests" / "unit").rglob("test_*.py")]
    # Of the tests' own calculations.
    folders = {one.parent for one in files} - {Path("link_matrices")}
    assert len(folders) > 1
    assert [one for one in folders if not (ROOT / "src" / "nodemend" / one).is_dir()] == []


def _places(path: str) -> list[Path]:
    candidates = [ROOT / path, ROOT / "src" / "nodemend" / path, ROOT / "src" / "nodemend" / f"{path}.py"]
    return [one for one in candidates if one.exists()]
