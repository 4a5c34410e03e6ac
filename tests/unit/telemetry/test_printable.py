"""Text that others wrote cannot act on a terminal or a log."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.telemetry.printable import printable, printable_json


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("plain text, ünïcode and 漢字", "plain text, ünïcode and 漢字"),
        ('line\n{"level":"error"}', 'line\\n{"level":"error"}'),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202egnirts", "safe\\u202egnirts"),
        ("a\u2028b\u2029c\x85d", "a\\u2028b\\u2029c\\x85d"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_does_not_simply_print_is_written_as_an_escape(foreign: str, shown: str) -> None:
    assert printable(foreign) == shown


def test_a_long_text_ends_in_an_ellipsis() -> None:
    assert printable("x" * 50, most=10) == "x" * 9 + "…"


@given(st.text())
def test_the_result_always_prints(foreign: str) -> None:
    shown = printable(foreign, most=40)

    assert shown.isprintable()
    assert len(shown) <= 40


@given(st.dictionaries(st.text(), st.text()))
def test_json_stays_the_same_json_and_prints(document: dict[str, str]) -> None:
    shown = printable_json(json.dumps(document, ensure_ascii=False, indent=2))

    assert json.loads(shown) == document
    assert shown.replace("\n", "").isprintable()


@given(st.text())
def test_what_prints_is_left_alone(foreign: str) -> None:
    assert printable(printable(foreign)) == printable(foreign)
