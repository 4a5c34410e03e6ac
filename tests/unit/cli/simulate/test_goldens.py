"""A colleague's answer to "what would happen if". `goldens` tells how to write them anew."""

from pathlib import Path

import pytest

from tests.unit.cli.simulate.goldens import GOLDENS, answer


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.stem)
def test_the_answer_is_the_one_that_was_read(golden: Path) -> None:
    assert answer(golden) == golden.read_text()


def test_there_are_answers() -> None:
    assert len(GOLDENS) > 5
