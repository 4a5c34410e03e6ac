"""Entry point of `kubectl mend`. The modules of a command are imported only when it is called."""

import importlib
import json
import os
import shutil
import sys
from io import StringIO
from typing import TYPE_CHECKING, Final

import click

from nodemend import __version__
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import VIEW_VERSION
from nodemend.cli.text import fit, split_step, step_lines
from nodemend.telemetry.printable import printable, printable_lines

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: Final = {
    "check": ("nodemend.cli.read_commands", "Verify the cluster, the installation and the configuration."),
    "status": ("nodemend.cli.read_commands", "Show everything that needs attention, on one screen."),
    "explain": ("nodemend.cli.read_commands", "Say why a node or a Machine is or is not remediated."),
    "tree": ("nodemend.cli.read_commands", "Show everything that concerns the healing of a node."),
    "timeline": (
        "nodemend.cli.read_commands",
        "Show what happened to a node, when, and on which evidence.",
    ),
    "probe": ("nodemend.cli.read_commands", "Say what could release a node if it fell silent now."),
    "drill": ("nodemend.cli.write_commands", "Reset a node by its watchdog, and time it."),
    "simulate": ("nodemend.cli.simulate.command", "Say what would be done if nodes failed."),
    "confirm": ("nodemend.cli.write_commands", "Confirm that a node is down, so that its workloads move."),
    "run": ("nodemend.cli.write_commands", "Order the remediation of a node now, through the guard."),
    "override": ("nodemend.cli.write_commands", "Order it past the limits of the guard."),
    "pause": ("nodemend.cli.write_commands", "Stop new actions at once: everywhere, or for one check."),
    "resume": ("nodemend.cli.write_commands", "End a pause."),
    "stop": ("nodemend.cli.write_commands", "End remediations at their next safe point."),
    "wind-down": ("nodemend.cli.write_commands", "End everything safely, before an uninstall."),
    "version": ("nodemend.cli.read_commands", "Print the version of this program."),
    "completion": ("nodemend.cli.read_commands", "Print a script that completes these commands in a shell."),
}
_DATA: Final = ("json", "yaml")
COMPLETE_VARIABLE: Final = "_KUBECTL_MEND_COMPLETE"
_EXIT_CODES: Final = "\b\nExit codes:\n" + "\n".join(f"  {code.value}  {code.meaning}" for code in ExitCode)


class Commands(click.Group):
    """The commands of the table above. Listing them imports none of their modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only needed for completion

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=summary)
            for name, (_, summary) in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


cli = Commands(
    "mend",
    help="Heals the nodes of a cluster, and releases their workloads only on evidence.",
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
click.version_option(__version__, prog_name="kubectl mend")(cli)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        ended = cli.main(
            args=arguments, prog_name="kubectl mend", complete_var=COMPLETE_VARIABLE, standalone_mode=False
        )
    except click.ClickException as error:
        if _asks_for_data(arguments):
            _tell_as_data(CommandFailure(ExitCode.USAGE, error.format_message()))
        else:
            reported = StringIO()
            error.show(file=reported)
            click.echo(printable_lines(reported.getvalue()), err=True, nl=False)
        return ExitCode.USAGE
    except click.Abort:
        click.echo("Aborted.", err=True)
        return ExitCode.WRONG
    except CommandFailure as failure:
        _tell_as_data(failure) if _asks_for_data(arguments) else _tell(failure)
        return failure.code
    return int(ended or ExitCode.FINE)


def _asks_for_data(arguments: list[str]) -> bool:
    """Return whether a program reads the output. Searches the raw arguments, because they may be invalid."""
    said = " ".join(arguments)
    return any(f"{flag}{form}" in said for flag in ("-o ", "-o", "--output ", "--output=") for form in _DATA)


def _tell_as_data(failure: CommandFailure) -> None:
    step = split_step(failure.next_step)
    document = {
        "apiVersion": VIEW_VERSION,
        "kind": "Failure",
        "code": int(failure.code),
        "message": failure.message,
        "advice": step.advice,
        "nextStep": step.command,
    }
    # JSON is also valid YAML, and escapes unprintable characters.
    click.echo(json.dumps(document, indent=2), err=True)


def _tell(failure: CommandFailure) -> None:
    # A message may repeat text from objects in the cluster, so unprintable characters are replaced.
    lines = [f"kubectl mend: {failure.message}"]
    if failure.next_step:
        lines += step_lines(split_step(failure.next_step))
    columns = shutil.get_terminal_size().columns
    folded = sys.stderr.isatty() or bool(os.environ.get("COLUMNS"))
    for line in map(printable, lines):
        click.echo("\n".join(fit(line, columns)) if folded else line, err=True)
