"""A deed that is confirmed by typing the node's name."""

import click

from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.telemetry.printable import printable


def ask_for_name(node: str, typed: str | None, *, to: str, undone: str) -> None:
    """The last moment to notice that it is the wrong machine. `typed` is what an option said, if it did.

    Raises CommandFailure for another name; `undone` says then what was not done.
    """
    said = typed
    if said is None:
        said = click.prompt(
            printable(f"Type the node's name to {to}"), default="", show_default=False, err=True
        )
    if said != node:
        raise CommandFailure(
            ExitCode.USAGE if typed is not None else ExitCode.WRONG, f"{said!r} is not {node}. {undone}"
        )
