"""A colleague's answer about a Machine. `machine_goldens` tells how to write them anew."""

import pytest

from tests.unit.cli.explain.machine_goldens import FOLDER, NAMES, answer, differences


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_one_that_was_read(name: str) -> None:
    assert answer(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_answer_that_was_read_is_still_given() -> None:
    assert differences() == []
