"""Answers to "why not" equal the reviewed text. The docstring of `goldens` says how to rewrite them."""

import pytest

from tests.unit.cli.explain.goldens import FOLDER, WORLDS, answer, differences


@pytest.mark.parametrize("name", WORLDS)
def test_the_answer_is_the_one_that_was_read(name: str) -> None:
    assert answer(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_answer_that_was_read_is_still_given() -> None:
    assert differences() == []
