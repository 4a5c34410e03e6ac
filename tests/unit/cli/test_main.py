"""The command line itself: commands, help, wrong usage."""

import subprocess
import sys

import click
import pytest

from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.main import COMMANDS, cli, main


def load(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_name_a_help_and_an_example(name: str) -> None:
    command = load(name)

    assert command.name == name
    assert command.help
    assert f"kubectl mend {name}" in command.help


@pytest.mark.parametrize("name", COMMANDS)
def test_the_flags_of_every_example_exist(name: str) -> None:
    command = load(name)
    known = {option for parameter in command.params for option in parameter.opts}
    used = {word for word in (command.help or "").split() if word.startswith("--")}

    assert used <= known | {"--all"}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("completion",)])
def test_every_command_with_output_also_has_machine_readable_output(name: str) -> None:
    assert "--output" in {option for parameter in load(name).params for option in parameter.opts}


def test_the_help_lists_commands_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == ExitCode.FINE
    shown = capsys.readouterr().out

    assert all(name in shown and summary in shown for name, (_, summary) in COMMANDS.items())
    assert all(f"{code.value}  {code.meaning}" in shown for code in ExitCode)


@pytest.mark.parametrize(
    "arguments",
    [
        ["chek"],
        ["status", "--colour"],
        ["pause"],
        ["pause", "--reason", " "],
        ["explain"],
        ["confirm", "edge-07"],
        ["confirm", "edge-07", "--reason", " "],
        ["confirm", "edge-07", "--withdraw", "--reason", "x"],
        ["run", "edge-07"],
        ["run", "edge-07", "--reason", " "],
        ["run", "edge-07", "--withdraw", "--reason", "x"],
        ["override", "edge-07"],
        ["stop"],
        ["stop", "edge-07", "--all"],
        ["status", "-o", "xml"],
        ["status", "--timeout", "0s"],
        ["status", "--timeout", "soon"],
        ["status", "--kubeconfig", "/there/is/none"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_and_an_error_message(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == ExitCode.USAGE
    assert capsys.readouterr().err


def test_the_version_needs_nothing_heavy() -> None:
    """A module that is not imported costs no time on any machine."""
    script = (
        "import sys; from nodemend.cli.main import main; main(['version']);"
        "print(sorted({'aiohttp', 'asyncio', 'msgspec', 'rich', 'yaml', 'ssl'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )

    assert run.stdout.splitlines()[-1] == "[]"


ESCAPES = "\x1b]0;pwned\x07\x1b[2J\x1b[31mAll is well\u202e \u009b31m\r\nNext: kubectl delete"


@pytest.mark.attack("S15")
@pytest.mark.parametrize(
    "failure",
    [
        CommandFailure(ExitCode.WRONG, f"the word of anna: {ESCAPES}", next_step=ESCAPES),
        click.UsageError(ESCAPES),
        click.BadParameter(ESCAPES),
        click.FileError(ESCAPES, ESCAPES),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_what_a_failure_repeats_of_others_does_not_act_on_the_terminal(
    failure: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise failure

    cli.add_command(click.Command("fail", callback=fail))
    try:
        main(["fail"])
    finally:
        del cli.commands["fail"]
    shown = capsys.readouterr()

    assert "pwned" in shown.err
    assert (shown.out + shown.err).replace("\n", "").isprintable()
