"""Numbers, times and names as text."""

import shlex
from datetime import UTC, datetime, timedelta, timezone

import pytest

from nodemend.cli.text import (
    align,
    first_sentence,
    fit,
    fold,
    quoted,
    spell_list,
    spell_moment,
    spell_names,
    spell_seconds,
)
from nodemend.safety.holds import spell_count


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3.0, "0s"),
        (0.9, "0s"),
        (59.9, "59s"),
        (60.0, "1m"),
        (372.0, "6m12s"),
        (185.0, "3m05s"),
        (3600.0, "1h"),
        (3660.0, "1h01m"),
        (86400.0, "1d"),
        (90000.0, "1d01h"),
    ],
)
def test_seconds_as_their_two_largest_units(seconds: float, words: str) -> None:
    assert spell_seconds(seconds) == words


def test_moments_are_shown_where_the_reader_is() -> None:
    moment = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
    vienna = timezone(timedelta(hours=1), "CET")

    assert spell_moment(moment, UTC) == "2026-01-31 12:00:00 UTC"
    assert spell_moment(moment, vienna) == "2026-01-31 13:00:00 CET"


def test_counts_agree_with_their_noun() -> None:
    assert [spell_count(number, "pod") for number in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]
    assert spell_count(2, "check covers", "checks cover") == "2 checks cover"


def test_long_lists_of_names_are_cut() -> None:
    assert spell_names(["a", "b"]) == "a, b"
    assert spell_names(list("abcdefgh"), most=3) == "a, b, c and 5 more"


@pytest.mark.parametrize(
    ("words", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists_end_in_and(words: list[str], said: str) -> None:
    assert spell_list(words) == said


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", ""),
        ("One sentence.", "One sentence."),
        ("The first one. The second.", "The first one."),
        ("Server 1.36 is up. It is.", "Server 1.36 is up."),
    ],
)
def test_the_first_sentence_of_a_text(text: str, first: str) -> None:
    assert first_sentence(text) == first


def test_columns_are_aligned_and_no_line_ends_in_blanks() -> None:
    assert align([("NODE", "WHY"), ("a", "because it is so"), ("edge-07", "")]) == [
        "NODE      WHY",
        "a         because it is so",
        "edge-07",
    ]


def test_a_folded_last_column_stays_below_itself() -> None:
    """This also holds in a table whose last column begins past the middle of the terminal."""
    head = f"{'3   allowed by the cluster':<41}"

    assert fit(f"{head}mode Act, not paused, 0 other nodes under remediation", 80) == [
        f"{head}mode Act, not paused, 0 other nodes",
        f"{'':<41}under remediation",
    ]


def test_lines_break_between_words_and_never_within_a_name() -> None:
    assert fold("by node-controller-manager of edge-07", 25) == [
        "by",
        "node-controller-manager",
        "of edge-07",
    ]
    assert fold("x" * 30, 25) == ["x" * 25, "x" * 5]


@pytest.mark.parametrize(
    "text", ["swap", 'say "x"', "$(reboot)", "`reboot`", "it's", "a\\b", "!!", "'; reboot; '"]
)
def test_a_foreign_value_is_one_argument_of_a_command(text: str) -> None:
    assert shlex.split(f"kubectl mend pause --reason {quoted(text)}")[-1] == text
    assert quoted("switch swap") == '"switch swap"'
