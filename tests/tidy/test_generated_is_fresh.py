"""Generated files are up to date with the code. `python -m generate` regenerates them."""

from pathlib import Path

import pytest
import yaml

from generate.outputs import (
    CHART,
    CHART_CRDS,
    CRDS,
    FLAT,
    INSTALL,
    custom_resource_definitions,
    flat_definition,
    host_parts,
    install_documents,
    plain_manifests,
)
from generate.shipped_policies import shipped_policies
from nodemend import __version__
from nodemend.guard import shipped_policies as shipped_module


@pytest.mark.parametrize(
    "file", custom_resource_definitions(), ids=lambda file: f"{file.parent.parent.name}/{file.name}"
)
def test_the_definitions_are_those_of_the_types(file: Path) -> None:
    assert file.read_text() == custom_resource_definitions()[file]


def test_there_are_no_definitions_of_removed_kinds() -> None:
    files = {file for folder in (CRDS, CHART_CRDS) for file in folder.iterdir()}

    assert files == set(custom_resource_definitions())


def test_the_chart_installs_the_units_that_people_install() -> None:
    found = {file: file.read_text() for file in (CHART / "files" / "host").iterdir()}

    assert found == host_parts()


def test_the_flat_definition_is_that_of_the_type() -> None:
    assert FLAT.read_text() == flat_definition()[FLAT]


def test_the_flat_definition_is_installed_only_on_request() -> None:
    name = yaml.safe_load(FLAT.read_text())["metadata"]["name"]

    assert name not in {document["metadata"]["name"] for document in install_documents()}
    assert not [file for file in CHART.rglob("*.yaml") if f"name: {name}" in file.read_text()]


def test_the_plain_manifests_are_the_rendered_chart() -> None:
    assert INSTALL.read_text() == plain_manifests()[INSTALL]


def test_the_plain_manifests_have_every_definition() -> None:
    """Also true if Helm is not installed."""
    installed = [d for d in install_documents() if d["kind"] == "CustomResourceDefinition"]
    checked_in = [yaml.safe_load(file.read_text()) for file in CRDS.iterdir()]

    def by_name(definition: dict[str, dict[str, str]]) -> str:
        return definition["metadata"]["name"]

    assert sorted(installed, key=by_name) == sorted(checked_in, key=by_name)


def test_the_fingerprints_of_the_policies_are_those_of_the_chart() -> None:
    """The generator writes the module that the programs import, not another file."""
    imported = Path(shipped_module.__file__)

    assert {imported: imported.read_text()} == shipped_policies()


def test_the_chart_installs_this_version() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__
