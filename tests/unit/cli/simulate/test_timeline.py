"""The timeline is short enough for a user to read."""

import pytest

from nodemend.cli.simulate.log import LogStep, StepKind
from nodemend.cli.simulate.output import MOST_LINES, Line, fold, spell_line, spell_what


def a_step(
    at: float, what: StepKind, *nodes: str, why: str = "", reason: str = "", scope: str = ""
) -> LogStep:
    return LogStep(at=at, what=what, nodes=[*nodes], why=why, reason=reason, scope=scope)


def test_what_happens_within_a_minute_for_one_cause_is_one_line() -> None:
    steps = [
        a_step(60, StepKind.BEGIN, "a"),
        a_step(70, StepKind.BACK, "x"),
        a_step(119, StepKind.BEGIN, "b"),
        a_step(120, StepKind.BEGIN, "c"),
    ]
    assert fold(steps) == (
        60,
        [
            Line(60, StepKind.BEGIN, "", ["a", "b"]),
            Line(70, StepKind.BACK, "", ["x"]),
            Line(120, StepKind.BEGIN, "", ["c"]),
        ],
    )


def test_holds_that_differ_in_their_numbers_are_one_and_show_the_last() -> None:
    steps = [
        a_step(0, StepKind.HOLD, "a", why="5 of 9", reason="TooManyUnhealthy", scope="b"),
        a_step(5, StepKind.HOLD, "b", why="6 of 9", reason="TooManyUnhealthy", scope="b"),
        a_step(5, StepKind.HOLD, "c", why="7 of 9", reason="TooManyUnhealthy", scope="c"),
        a_step(6, StepKind.HOLD, "d", why="just begun", reason="StartInterval"),
        a_step(7, StepKind.HOLD, "e", why="no room", reason="TooManyAtOnce"),
    ]
    assert [(line.why, line.nodes) for line in fold(steps)[1]] == [
        ("6 of 9", ["a", "b"]),
        ("7 of 9", ["c"]),
        ("no room", ["d", "e"]),
    ]


def test_the_more_happens_the_longer_is_what_a_line_stands_for() -> None:
    steps = [a_step(at, StepKind.BEGIN, str(at)) for at in range(0, 6 * 3600, 60)]
    stands_for, lines = fold(steps)
    assert (stands_for, len(lines)) == (900, 24)
    assert len(lines) <= MOST_LINES
    endless = [a_step(at, StepKind.BEGIN, str(at)) for at in range(0, 86400 * 60, 86400)]
    assert fold(endless)[0] == 86400


def test_the_closing_of_a_case_has_no_separate_line() -> None:
    assert fold([a_step(0, StepKind.CLOSE, "a")])[1] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (Line(0, StepKind.FAIL, "", ["a", "b"]), "a, b"),
        (Line(0, StepKind.FAIL, "", list("abcdefg")), "a, b, c, d, e and 2 more"),
        (Line(0, StepKind.FAIL, "", ["a" * 50, "b" * 50]), f"{'a' * 50} and 1 more"),
        (Line(0, StepKind.STORM, "too many", []), "too many"),
        (Line(0, StepKind.HOLD, "Why.", ["a", "b"]), "a, b: Why."),
        (Line(0, StepKind.HOLD, "Why.", ["a", "b", "c"]), "Why."),
        (Line(0, StepKind.BEGIN, "remedy 2, X", ["a", "b", "c"]), "a, b, c (remedy 2, X)"),
    ],
)
def test_a_line_says_which_or_why(line: Line, said: str) -> None:
    assert spell_line(line) == said


def test_words() -> None:
    said = [
        spell_what(Line(0, what, ""))
        for what in (StepKind.HOLD, StepKind.GIVE_UP, StepKind.STILL_UNHEALTHY, StepKind.BACK)
    ]
    assert said == ["HOLD", "give up", "still unhealthy", "back"]
