"""Writes what commands have to say: plain lines, painted only where a person looks at a terminal.

The text is complete before any colour comes to it, so that colour never carries a meaning of its own.
"""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import click

from nodemend.cli.options import Form
from nodemend.cli.view import as_document
from nodemend.telemetry.printable import printable

V = TypeVar("V")

_LONGEST_LINE: Final = 20_000
_PAINT: Final = (
    (r"^  ok  ", "green"),
    (r"^  warn", "yellow"),
    (r"^  FAIL", "bold red"),
    (r"\bHOLD\b|\bHeld\b", "bold yellow"),
    (r"\bUnhealthy\b|\bContradicted\b", "bold red"),
    (r"kubectl mend [^`\"']*", "cyan"),
    (r"^(Next|Warning):", "bold"),
    (r"^[A-Z][A-Z-]+( +[A-Z#][A-Z-]*)+$", "bold"),
)


def show(view: V, form: Form, render: Callable[[V], Iterable[str]]) -> None:
    """On standard output, in the form asked for."""
    if form is Form.TEXT:
        write_lines(render(view))
    else:
        click.echo(as_document(view, form))


def write_lines(lines: Iterable[str]) -> None:
    """Each on a line of its own. A line break within one came from the cluster, and is shown as an escape."""
    safe = [printable(line, _LONGEST_LINE) for line in lines]
    if _is_painted():
        _write_painted(safe)
    else:
        click.echo("\n".join(safe))


def write_note(line: str) -> None:
    """On standard error, beside the output."""
    click.echo(printable(line, _LONGEST_LINE), err=True)


def _is_painted() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def _write_painted(lines: Iterable[str]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only where it is used: it costs a tenth of a second
    from rich.text import Text  # noqa: PLC0415

    console = Console(markup=False, highlight=False, emoji=False)
    for line in lines:
        text = Text(line)
        for pattern, style in _PAINT:
            text.highlight_regex(pattern, style)
        console.print(text, soft_wrap=True)
