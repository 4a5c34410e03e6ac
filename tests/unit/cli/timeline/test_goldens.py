"""What was read and looked at is what is told and drawn. `goldens` tells how to make them anew."""

import pytest

from tests.unit.cli.timeline.goldens import FOLDER, WORLDS, picture, text


@pytest.mark.parametrize("name", WORLDS)
def test_the_text_is_the_one_that_was_read(name: str) -> None:
    assert text(name) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", WORLDS)
def test_the_picture_is_the_one_that_was_looked_at(name: str) -> None:
    assert picture(name) == (FOLDER / f"{name}.svg").read_text()


def test_every_golden_has_its_world() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(WORLDS)
