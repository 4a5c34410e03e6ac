"""As few lines as a person will read."""

import pytest

from nodemend.cli.simulate.story import What
from nodemend.cli.simulate.timeline import MOST_LINES, Line, fold, spell_line, spell_what
from nodemend.cli.simulate.view import StepView


def a_step(at: float, what: What, *nodes: str, why: str = "", reason: str = "", scope: str = "") -> StepView:
    return StepView(at=at, what=what, nodes=nodes, why=why, reason=reason, scope=scope)


def test_what_happens_within_a_minute_for_one_cause_is_one_line() -> None:
    steps = [
        a_step(60, What.BEGIN, "a"),
        a_step(70, What.BACK, "x"),
        a_step(119, What.BEGIN, "b"),
        a_step(120, What.BEGIN, "c"),
    ]
    assert fold(steps) == (
        60,
        [
            Line(60, What.BEGIN, "", ["a", "b"]),
            Line(70, What.BACK, "", ["x"]),
            Line(120, What.BEGIN, "", ["c"]),
        ],
    )


def test_holds_that_differ_in_their_numbers_are_one_and_show_the_last() -> None:
    steps = [
        a_step(0, What.HOLD, "a", why="5 of 9", reason="TooManyUnhealthy", scope="b"),
        a_step(5, What.HOLD, "b", why="6 of 9", reason="TooManyUnhealthy", scope="b"),
        a_step(5, What.HOLD, "c", why="7 of 9", reason="TooManyUnhealthy", scope="c"),
        a_step(6, What.HOLD, "d", why="just begun", reason="Pacing"),
        a_step(7, What.HOLD, "e", why="no room", reason="TooManyAtOnce"),
    ]
    assert [(line.why, line.nodes) for line in fold(steps)[1]] == [
        ("6 of 9", ["a", "b"]),
        ("7 of 9", ["c"]),
        ("no room", ["d", "e"]),
    ]


def test_the_more_happens_the_longer_is_what_a_line_stands_for() -> None:
    steps = [a_step(at, What.BEGIN, str(at)) for at in range(0, 6 * 3600, 60)]
    stands_for, lines = fold(steps)
    assert (stands_for, len(lines)) == (900, 24)
    assert len(lines) <= MOST_LINES
    endless = [a_step(at, What.BEGIN, str(at)) for at in range(0, 86400 * 60, 86400)]
    assert fold(endless)[0] == 86400


def test_that_a_case_is_closed_is_no_line_of_its_own() -> None:
    assert fold([a_step(0, What.CLOSE, "a")])[1] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (Line(0, What.FAIL, "", ["a", "b"]), "a, b"),
        (Line(0, What.FAIL, "", list("abcdefg")), "a, b, c, d, e and 2 more"),
        (Line(0, What.FAIL, "", ["a" * 50, "b" * 50]), f"{'a' * 50} and 1 more"),
        (Line(0, What.STORM, "too many", []), "too many"),
        (Line(0, What.HOLD, "Why.", ["a", "b"]), "a, b: Why."),
        (Line(0, What.HOLD, "Why.", ["a", "b", "c"]), "Why."),
        (Line(0, What.BEGIN, "remedy 2, X", ["a", "b", "c"]), "a, b, c (remedy 2, X)"),
    ],
)
def test_a_line_says_which_or_why(line: Line, said: str) -> None:
    assert spell_line(line) == said


def test_words() -> None:
    said = [spell_what(Line(0, what, "")) for what in (What.HOLD, What.GIVE_UP, What.STILL_SICK, What.BACK)]
    assert said == ["HOLD", "give up", "still sick", "back"]
