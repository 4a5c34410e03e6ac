"""Writes what commands have to say: plain lines, painted only where a person looks at a terminal.

The text is complete before any colour comes to it, so that colour never carries a meaning of its own.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import click

from nodemend.cli.options import Form
from nodemend.cli.view import as_document, as_line
from nodemend.cli.watching import LOOK_EVERY, Look
from nodemend.cli.words import fit, spell_moment, spell_seconds
from nodemend.telemetry.printable import printable

V = TypeVar("V")

_LONGEST_LINE: Final = 20_000
_WIDTH_ELSEWHERE: Final = 120
"""Columns, where nobody looks at a terminal."""
_PAINT: Final = (
    (r"^  ok  ", "green"),
    (r"^  warn", "yellow"),
    (r"^  FAIL", "bold red"),
    (r"\bHOLD\b|\bHeld\b", "bold yellow"),
    (r"\bEVIDENCE E\d\b|\bRELEASE:", "bold magenta"),
    (r"\bUnhealthy\b|\bContradicted\b", "bold red"),
    (r"kubectl mend [^`\"']*", "cyan"),
    (r"^(Next|Warning):", "bold"),
    (r"^[A-Z][A-Z-]+( +[A-Z#][A-Z-]*)+$", "bold"),
)


def show(view: V, form: Form, render: Callable[[V], Iterable[str]]) -> None:
    """On standard output, in the form asked for."""
    if form in (Form.TEXT, Form.WIDE):
        write_lines(render(view))
    else:
        click.echo(as_document(view, form))


def show_look(look: Look[V], form: Form, render: Callable[[V], Iterable[str]]) -> None:
    """One look of many. A terminal is drawn anew each time; elsewhere news is written, one below another.

    JSON is one document a line, YAML one after another, so that a program can follow.
    """
    if form is Form.TEXT and sys.stdout.isatty():
        click.clear()
        write_lines([*_head(look), "", *render(look.view)])
    elif look.news and look.failure:
        write_note(f"Warning: {look.failure}")
    elif look.news:
        match form:
            case Form.TEXT | Form.WIDE:
                write_lines([*_head(look), "", *render(look.view), ""])
            case Form.JSON:
                click.echo(as_line(look.view))
            case Form.YAML:
                click.echo(f"---\n{as_document(look.view, form)}")


def write_lines(lines: Iterable[str]) -> None:
    """Each on a line of its own. A line break within one came from the cluster, and is shown as an escape.

    What is wider than the terminal is folded at words. Where nobody looks at one, lines stay whole.
    """
    safe = [printable(line, _LONGEST_LINE) for line in lines]
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        safe = [part for line in safe for part in fit(line, width())]
    if _is_painted():
        _write_painted(safe)
    else:
        click.echo("\n".join(safe))


def write_note(line: str) -> None:
    """On standard error, beside the output."""
    click.echo(printable(line, _LONGEST_LINE), err=True)


def ask(question: str) -> None:
    """A yes or no. Raises click.Abort for no."""
    click.confirm(printable(question), abort=True, err=True)


def width() -> int:
    """How many columns there are: of the terminal, or as COLUMNS says."""
    return shutil.get_terminal_size((_WIDTH_ELSEWHERE, 0)).columns


def _head(look: Look[V]) -> Iterable[str]:
    yield f"{spell_moment(look.at, None)}; looks every {spell_seconds(LOOK_EVERY)} until Ctrl-C"
    if look.failure:
        yield f"Warning: {look.failure} Below is what was last seen."


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
