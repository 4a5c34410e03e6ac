"""The output equals the reviewed text. The docstring of `goldens` says how to rewrite it."""

import pytest

from nodemend.cli.options import Form
from nodemend.cli.output import as_document
from nodemend.cli.probe import Possible
from tests.unit.cli.probe.goldens import CASES, FOLDER, text, view_of


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_one_that_was_read(name: str) -> None:
    assert text(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_golden_has_its_case() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_every_view_is_a_document(name: str) -> None:
    assert as_document(view_of(name), Form.JSON)


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_possible_has_its_why_and_what_is_has_on_what_it_rests(name: str) -> None:
    for way in view_of(name).ways:
        assert bool(way.rests_on and way.after) == (way.possible is Possible.YES)
        assert bool(way.because) == (way.possible is not Possible.YES)


def test_only_remedies_that_a_check_asks_for_can_release_it() -> None:
    never = {"no_agent", "nothing_resets_it", "nobody_watches_it", "leases_unseen", "a_remedy_of_others"}

    assert {name for name in CASES if not view_of(name).releasable} == never
