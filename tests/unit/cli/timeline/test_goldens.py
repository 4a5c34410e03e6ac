"""Text and pictures equal the reviewed ones. The docstring of `goldens` says how to rewrite them."""

import pytest

from tests.unit.cli.timeline.goldens import FOLDER, IN_DOCS, WORLDS, picture, text


@pytest.mark.parametrize("name", WORLDS)
def test_the_text_is_the_one_that_was_read(name: str) -> None:
    assert text(name) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", WORLDS)
def test_the_picture_is_the_reviewed_one(name: str) -> None:
    assert picture(name) == (FOLDER / f"{name}.svg").read_text()


def test_the_picture_in_the_documentation_is_that_of_the_program() -> None:
    assert picture("healed") == IN_DOCS.read_text()


def test_every_golden_has_its_world() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(WORLDS)
