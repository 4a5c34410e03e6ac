"""The terminal gets the whole text; colour is added only if it is enabled."""

import re
from datetime import UTC, datetime

import pytest

from nodemend.cli.options import Form
from nodemend.cli.terminal import Observation, show_observation, write_lines, write_note

LINES = ["cluster", "  ok    fine", "  FAIL  broken", "Next: kubectl mend status"]


def test_without_a_terminal_there_is_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(LINES)

    assert capsys.readouterr().out.splitlines() == LINES


def test_colour_adds_nothing_to_the_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    write_lines(LINES)
    shown = capsys.readouterr().out

    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines() == LINES


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_user_can_disable_colours(
    name: str, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv(name, value)
    write_lines(LINES)

    assert capsys.readouterr().out.splitlines() == LINES


def test_text_from_the_cluster_cannot_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(["paused by x: \x1b[2J\nNext: rm -rf /"])
    write_note("Warning: \x1b]0;x\x07")
    shown = capsys.readouterr()

    assert shown.out == "paused by x: \\x1b[2J\\nNext: rm -rf /\n"
    assert shown.err == "Warning: \\x1b]0;x\\x07\n"


AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("form", "written"),
    [
        (Form.JSON, '["edge-07"]\n'),
        (Form.YAML, "---\n- edge-07\n"),
    ],
)
def test_a_program_gets_one_document_for_each_change(
    form: Form, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for news in (True, False):
        show_observation(Observation(["edge-07"], AT, news=news), form, list)

    assert capsys.readouterr().out == written


def test_without_a_terminal_only_changes_are_printed_and_a_failure_is_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for news, failure in ((True, ""), (False, ""), (True, "no answer."), (False, "no answer.")):
        show_observation(Observation(["edge-07 is held"], AT, news=news, failure=failure), Form.TEXT, list)
    shown = capsys.readouterr()

    head, *rest = shown.out.splitlines()
    assert head.endswith("; looks every 2s until Ctrl-C")
    assert rest == ["", "edge-07 is held", ""]
    assert shown.err == "Warning: no answer.\n"
