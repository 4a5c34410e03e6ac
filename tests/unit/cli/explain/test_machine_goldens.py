"""Answers about a Machine equal the reviewed text.

The docstring of `machine_goldens` says how to rewrite them.
"""

import pytest

from tests.unit.cli.explain.machine_goldens import FOLDER, NAMES, answer, differences


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_one_that_was_read(name: str) -> None:
    assert answer(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_answer_that_was_read_is_still_given() -> None:
    assert differences() == []
