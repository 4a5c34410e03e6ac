"""The output equals the reviewed text. The docstring of `goldens` says how to rewrite it."""

import pytest

from nodemend.cli.options import Form
from nodemend.cli.output import as_document
from nodemend.cli.tree.view import render
from tests.unit.cli.tree.goldens import CASES, FOLDER, text, view_of
from tests.unit.cli.views import below


@pytest.mark.parametrize("name", CASES)
def test_the_tree_is_the_one_that_was_read(name: str) -> None:
    assert text(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_golden_has_its_case() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(CASES)


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", CASES)
def test_no_branch_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = [line for line in render(view_of(name), width) if not line.startswith(("Next:", "Warning:"))]

    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_programs_get_all_that_people_get(name: str) -> None:
    document = as_document(view_of(name), Form.JSON)

    for branch in below(view_of(name).root):
        assert all(
            f'"{said}"' in document
            for said in (branch.kind, *branch.says)
            if said.isascii() and '"' not in said
        )
