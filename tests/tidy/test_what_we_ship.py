"""Every input of the image is pinned, and the image contains what its bill of materials lists."""

import importlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from image_root.build_root import USER
from image_root.chroot import ENVIRONMENT
from nodemend import __version__
from sbom.bill import bill_of_materials
from sbom.parts import debian_parts, python_parts
from tests.tidy.source_tree import ROOT

pytestmark = pytest.mark.attack("S17")

CONTAINERFILE = (ROOT / "deploy" / "images" / "Containerfile").read_text()
RUN = (ROOT / "requirements" / "run.txt").read_text()


def steps(directive: str) -> list[str]:
    joined = CONTAINERFILE.replace("\\\n", " ")
    return [" ".join(line.split()[1:]) for line in joined.splitlines() if line.startswith(f"{directive} ")]


def test_the_image_is_the_root_that_is_tested_and_nothing_else() -> None:
    assert steps("FROM") == ["scratch"]
    assert steps("COPY") == ["dist/image/ /"]
    assert steps("RUN") == steps("ADD") == []
    assert steps("USER") == [f"{USER}:{USER}"]


def test_its_environment_is_that_of_the_root() -> None:
    [said] = steps("ENV")
    variables = dict(one.split("=", 1) for one in said.split())
    assert variables.items() >= ENVIRONMENT.items()


def test_every_wheel_is_pinned_by_version_and_hash() -> None:
    parts = list(python_parts(RUN))
    named = {part.name for part in parts}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]

    assert named >= {re.split(r"[<>=\[;]", one)[0] for one in declared}


@pytest.mark.parametrize("line", ["aiohttp>=3", "aiohttp==3.14.5", "git+https://example.com/x", "-e ."])
def test_one_that_is_not_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not pinned"):
        list(python_parts(line))


def test_the_build_backend_is_one_version() -> None:
    [backend] = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert re.fullmatch(r"[a-z_]+==[0-9.]+", backend)


def bill(root: Path | None = None) -> dict[str, Any]:
    parts = [*python_parts(RUN), *(debian_parts(root) if root else ())]
    return bill_of_materials(__version__, parts)


def test_the_list_of_what_is_inside_is_whole_and_the_same_each_time() -> None:
    made = bill()

    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", made["serialNumber"])
    assert len(made["components"]) == len(list(python_parts(RUN)))
    references = [one["bom-ref"] for one in made["components"]]
    assert len(set(references)) == len(references)
    assert made["dependencies"][0]["dependsOn"] == references
    assert json.dumps(made) == json.dumps(bill())


def test_packages_of_an_image_are_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "var" / "lib" / "dpkg" / "status.d"
    folder.mkdir(parents=True)
    control = "Package: libc6\nVersion: 2:2.36-9+deb12u10\nArchitecture: amd64\nDescription: x\n"
    (folder / "libc6").write_text(control)

    found = [one["purl"] for one in bill(tmp_path)["components"] if one["name"] == "libc6"]

    assert found == ["pkg:deb/debian/libc6@2%3A2.36-9%2Bdeb12u10?arch=amd64"]


def test_every_command_that_is_installed_can_be_imported() -> None:
    commands = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert len(commands) >= 5
    for target in commands.values():
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
