"""Output fits the terminal, and breaks between words."""

import json

import click
import pytest

from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.main import COMMANDS, cli, main
from nodemend.cli.terminal import write_lines
from nodemend.cli.text import align, fit

LONG = "the guard is closed for the whole cluster, as one cause may be behind all of it: look for that first"


@pytest.mark.attack("U11")
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_fits_80_columns(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*([name] if name else []), "--help"]) == ExitCode.FINE

    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.attack("U11")
@pytest.mark.parametrize("line", [LONG, f"Guard     {LONG}", *align([("edge-07", "Unhealthy", "9m", LONG)])])
def test_a_line_is_folded_at_words_and_its_last_column_stays_one(line: str) -> None:
    folded = fit(line, 80)

    assert all(len(part) <= 80 for part in folded)
    assert " ".join(folded).split() == line.split()
    column = line.index(LONG)
    assert column == 0 or all(part.startswith(" " * column) for part in folded[1:])


def test_a_command_to_paste_stays_on_one_line() -> None:
    command = f'Next: kubectl mend confirm edge-07 --reason "{LONG}"'

    assert fit(command, 80) == [command]


def test_lines_are_not_cut_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    write_lines([LONG])
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    write_lines([LONG])

    assert whole == f"{LONG}\n"
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.attack("U11")
def test_a_failure_is_folded_and_is_data_for_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise CommandFailure(ExitCode.NO_ANSWER, f"no answer: {LONG}.", "then: kubectl mend status")

    option = click.Option(["-o", "--output"])
    cli.add_command(click.Command("fail", callback=fail, params=[option]))
    monkeypatch.setenv("COLUMNS", "80")
    try:
        assert main(["fail"]) == ExitCode.NO_ANSWER
        text = capsys.readouterr().err
        assert main(["fail", "-o", "json"]) == ExitCode.NO_ANSWER
        data = json.loads(capsys.readouterr().err)
    finally:
        del cli.commands["fail"]

    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[-1] == "Next: kubectl mend status"
    assert data["kind"] == "Failure"
    assert (data["apiVersion"], data["code"]) == ("cli.nodemend.io/v1alpha1", 3)
    assert (data["advice"], data["nextStep"]) == ("Then:", "kubectl mend status")
