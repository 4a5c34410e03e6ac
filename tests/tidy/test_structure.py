"""Imports between packages go down the layers, and the tool that draws them finds those that do not."""

import re
from pathlib import Path

import pytest

from structure import __main__ as program
from structure.drawing import draw
from structure.layers import read_layers, upward
from structure.modules import Import, SourceTree, read_tree
from structure.packages import condense, reduced
from tests.tidy.source_tree import ROOT, SOURCE

CONTRACT = """
[tool.importlinter]
root_package = "shop"
[[tool.importlinter.contracts]]
name = "Layers"
type = "layers"
layers = ["shop.front", "shop.till | shop.scale", "shop.goods"]
"""


def tree_of(folder: Path, files: dict[str, str]) -> SourceTree:
    for name, text in files.items():
        file = folder / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for package in {file.parent for file in (folder / "shop").rglob("*.py")} | {folder / "shop"}:
        (package / "__init__.py").touch()
    return read_tree(folder / "shop")


def arrows_of(tree: SourceTree) -> set[tuple[str, str]]:
    return {(key, target) for key, targets in condense(tree).arrows.items() for target in targets}


def test_packages_have_no_cycles_and_no_import_goes_up() -> None:
    tree = read_tree(SOURCE)
    assert len(condense(tree).boxes) > 10
    assert condense(tree).cycles == ()
    assert upward(tree.imports, read_layers(ROOT / "pyproject.toml")) == ()


def test_modules_become_packages_and_subpackages(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        {
            "goods/fruit.py": "",
            "front/window.py": "import shop.front.door.lock\nfrom shop.goods import fruit",
            "front/door/lock.py": "def turn():\n    from shop.goods.fruit import apple",
        },
    )
    assert arrows_of(tree) == {("front", "front/door"), ("front", "goods"), ("front/door", "goods")}


def test_a_package_may_be_above_and_below_its_subpackages(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        {
            "front/all.py": "from shop.front.door import lock",
            "front/door/lock.py": "from shop.front import key",
        }
        | {"front/key.py": ""},
    )
    assert condense(tree).cycles == ()
    assert arrows_of(tree) == {("front:1", "front/door"), ("front/door", "front:0")}


def test_a_cycle_between_packages_is_found(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        {"till/a.py": "from shop.scale import b", "scale/b.py": "", "scale/c.py": "import shop.till.a"},
    )
    assert condense(tree).cycles == (("scale", "till"),)


def test_a_cycle_through_a_module_beside_subpackages_is_found(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        {
            "front/key.py": "from shop.front.door import lock",
            "front/door/lock.py": "from shop.front import key",
        },
    )
    assert condense(tree).cycles == (("front", "front/door"),)


@pytest.mark.parametrize(
    ("importer", "imported", "rises"),
    [
        ("shop.front.window", "shop.goods.fruit", False),
        ("shop.goods.fruit", "shop.front.window", True),
        ("shop.till.a", "shop.scale.b", True),
        ("shop.till.a", "shop.till.b", False),
        ("shop.other", "shop.front.window", False),
    ],
)
def test_imports_against_the_layers_are_found(
    tmp_path: Path, importer: str, imported: str, rises: bool
) -> None:
    (tmp_path / "pyproject.toml").write_text(CONTRACT)
    found = upward([Import(importer, imported)], read_layers(tmp_path / "pyproject.toml"))
    assert bool(found) is rises


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    assert reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_every_arrow_of_the_picture_goes_down() -> None:
    paths = re.findall(r'<path d="(M[^"]+)" fill="none"', draw(condense(read_tree(SOURCE))))
    assert len(paths) > 10
    for path in paths:
        start = float(path[1:].split("C")[0].split()[1])
        assert start < float(path.split()[-1])


def test_the_command_fails_for_a_cycle_and_for_an_old_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree_of(tmp_path, {"till/a.py": "from shop.scale import b", "scale/b.py": ""})
    (tmp_path / "pyproject.toml").write_text(CONTRACT.replace("till | shop.scale", "till: shop.scale"))
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "SOURCE", tmp_path / "shop")
    monkeypatch.setattr(program, "PICTURE", tmp_path / "docs" / "packages.svg")
    assert program.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 packages, 1 arrows, 0 cycles, 0 upward"
    assert program.main(["--check"]) == 0
    (tmp_path / "shop" / "till" / "a.py").write_text("")
    assert program.main(["--check"]) == 1
    tree_of(tmp_path, {"till/a.py": "from shop.scale import b", "scale/b.py": "from shop.till import a"})
    assert program.main([]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 packages, 2 arrows, 1 cycles, 0 upward"
