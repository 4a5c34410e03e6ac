"""Writes the output of commands, asks for confirmation, and repeats a read until the user stops it.

Text is plain lines, with colour only on a terminal or if FORCE_COLOR is set. The text is complete before
colour is added, so that colour never carries information. An action can require that the user types the
node's name. Repeated reads have a bounded rate.
"""

import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

import click

from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import Form
from nodemend.cli.output import View, as_document, as_line
from nodemend.cli.text import fit, spell_moment, spell_seconds
from nodemend.telemetry.printable import printable


def ask_for_name(node: str, typed: str | None, *, to: str, undone: str) -> None:
    """Ask for the node's name, as the last chance to notice the wrong machine.

    `typed` is the value of the flag, None if it was not given. Raises CommandFailure for another name;
    `undone` then states that nothing was done.
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


V = TypeVar("V")

POLL_INTERVAL: Final = 2.0
"""Seconds from the end of one read to the start of the next."""


@dataclass(frozen=True, slots=True)
class Observation(Generic[V]):
    """The last view and its time. `failure` is the reason if the cluster has not answered since; else empty.

    The flag for a changed view is False if only ages differ from the previous view.
    """

    view: V
    at: datetime
    news: bool
    failure: str = ""


async def keep_observing(
    cluster: Cluster,
    read: Callable[[Cluster], Awaitable[V]],
    lasting: Callable[[V], object],
    tell: Callable[[Observation[V]], None],
) -> None:
    """Read until cancelled. `lasting` returns the part of a view that does not change with time alone.

    Raises CommandFailure if the first read fails, or if a later one is refused.
    """
    last = Observation(await read(cluster), cluster.now, news=True)
    tell(last)
    while True:
        await cluster.runtime.sleep(POLL_INTERVAL)
        last = await _observe_again(cluster, read, lasting, last)
        tell(last)


async def _observe_again(
    cluster: Cluster,
    read: Callable[[Cluster], Awaitable[V]],
    lasting: Callable[[V], object],
    before: Observation[V],
) -> Observation[V]:
    try:
        view = await read(cluster)
    except CommandFailure as failure:
        if not failure.may_pass:
            raise
        return Observation(before.view, before.at, news=not before.failure, failure=failure.message)
    news = bool(before.failure) or lasting(view) != lasting(before.view)
    return Observation(view, cluster.now, news=news)


ViewT = TypeVar("ViewT", bound=View | Sequence[str])

_LONGEST_LINE: Final = 20_000
_WIDTH_ELSEWHERE: Final = 120
"""Columns if the output is not a terminal."""
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


def show(view: ViewT, form: Form, render: Callable[[ViewT], Iterable[str]]) -> None:
    """Write the view to standard output in the requested format."""
    if form in (Form.TEXT, Form.WIDE):
        write_lines(render(view))
    else:
        click.echo(as_document(view, form))


def show_observation(
    observation: Observation[ViewT], form: Form, render: Callable[[ViewT], Iterable[str]]
) -> None:
    """Write one of several views. A terminal is redrawn each time; any other output gets only changed views.

    JSON is one document per line and YAML one document after another, so that programs can read a stream.
    """
    if form is Form.TEXT and sys.stdout.isatty():
        click.clear()
        write_lines([*_head(observation), "", *render(observation.view)])
    elif observation.news and observation.failure:
        write_note(f"Warning: {observation.failure}")
    elif observation.news:
        match form:
            case Form.TEXT | Form.WIDE:
                write_lines([*_head(observation), "", *render(observation.view), ""])
            case Form.JSON:
                click.echo(as_line(observation.view))
            case Form.YAML:
                click.echo(f"---\n{as_document(observation.view, form)}")


def write_lines(lines: Iterable[str]) -> None:
    """Write each line separately. A line break within a line came from the cluster and is shown as an escape.

    On a terminal, or if COLUMNS is set, longer lines are folded between words. Elsewhere they are not folded.
    """
    safe = [printable(line, _LONGEST_LINE) for line in lines]
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        safe = [part for line in safe for part in fit(line, width())]
    if _is_painted():
        _write_painted(safe)
    else:
        click.echo("\n".join(safe))


def write_note(line: str) -> None:
    """Write a line to standard error, so that it is not part of the output."""
    click.echo(printable(line, _LONGEST_LINE), err=True)


def ask(question: str) -> None:
    """Ask a yes-or-no question. Raises click.Abort for no."""
    click.confirm(printable(question), abort=True, err=True)


def width() -> int:
    """Number of columns of the terminal, or the value of COLUMNS."""
    return shutil.get_terminal_size((_WIDTH_ELSEWHERE, 0)).columns


def _head(observation: Observation[ViewT]) -> Iterable[str]:
    yield f"{spell_moment(observation.at, None)}; looks every {spell_seconds(POLL_INTERVAL)} until Ctrl-C"
    if observation.failure:
        yield f"Warning: {observation.failure} Below is what was last seen."


def _is_painted() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def _write_painted(lines: Iterable[str]) -> None:
    from rich.console import Console  # noqa: PLC0415 - costs a tenth of a second, only needed for colour
    from rich.text import Text  # noqa: PLC0415

    console = Console(markup=False, highlight=False, emoji=False)
    for line in lines:
        text = Text(line)
        for pattern, style in _PAINT:
            text.highlight_regex(pattern, style)
        console.print(text, soft_wrap=True)
