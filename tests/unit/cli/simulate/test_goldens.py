"""Answers to "what would happen if" equal the reviewed text.

The docstring of `goldens` says how to rewrite them.
"""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.unit.cli.simulate.clusters import as_list, edge_cluster
from tests.unit.cli.simulate.goldens import EXAMPLE, GOLDENS, answer


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.stem)
def test_the_answer_is_the_one_that_was_read(golden: Path) -> None:
    assert answer(golden) == golden.read_text()


def test_there_are_answers() -> None:
    assert len(GOLDENS) > 5


def test_the_answers_on_the_page_are_among_them() -> None:
    page = (Path(__file__).parents[4] / "docs/how-to/simulate.md").read_text()
    quoted = [block for block in re.findall(r"(?:^(?:    .*)?\n)+", page, re.M) if "$ kubectl mend" in block]
    read = {golden.read_text().strip() for golden in GOLDENS}

    assert len(quoted) == 2
    assert {dedent(block).strip() for block in quoted} <= read


def test_the_example_is_the_cluster_of_these_answers() -> None:
    assert EXAMPLE.read_bytes() == as_list(edge_cluster()) + b"\n"
