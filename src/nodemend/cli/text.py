"""Formats durations, times, names and tables as text, and extracts the next command from explanations.

Explanations of holds, refusals and failures are written as one text. A command's output ends with optional
advice as a sentence, and with `Next:` and one command to paste.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from textwrap import wrap
from typing import Final

NOTHING: Final = "nothing"
_NEXT_COMMAND: Final = re.compile(
    r"`(?P<quoted>kubectl [^`]*)`|(?:^|: )(?P<plain>kubectl (?:\"[^\"]*\"|'[^']*'|[^\"'`;,])*)"
)
"""A command in backticks; or a plain one at the beginning or after a colon, up to the next punctuation."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """`command` begins with kubectl or is `nothing`. `advice` is empty if the command is sufficient."""

    advice: str
    command: str


def split_step(said: str, otherwise: str = NOTHING) -> NextStep:
    """Split a text into advice and command. `otherwise` is the command if the text contains none."""
    said = said.strip()
    if said.rstrip(".") in ("", NOTHING):
        return NextStep("", NOTHING if said else otherwise)
    found = _NEXT_COMMAND.search(said)
    if found is None:
        return NextStep(_sentence(said.removeprefix(f"{NOTHING}; ")), otherwise)
    command = _without_stop(found["quoted"] or found["plain"])
    if found["quoted"]:
        return NextStep(_sentence(said), command)
    before, _, after = (part.strip(";, ") for part in said.partition(command))
    after = after.strip(".")
    return NextStep(" ".join(_sentence(part) for part in (before, after) if part), command)


def _sentence(said: str) -> str:
    said = said if said.startswith("kubectl ") else said[:1].upper() + said[1:]
    return said if said.endswith((".", "?", ":")) or not said else f"{said}."


def step_lines(step: NextStep) -> Iterator[str]:
    if step.advice:
        yield step.advice
    yield f"Next: {step.command}"


def _without_stop(command: str) -> str:
    command = command.strip()
    return command if command.endswith("...") else command.removesuffix(".")


_COMMAND: Final = re.compile(r"(Next: +| +[a-z][a-z ,]*: +| +)kubectl ")
_ENDS_WITH_COMMAND: Final = re.compile(r"(?<=: )kubectl (?!.*: kubectl ).*$")
_ACTS_IN_QUOTES: Final = re.compile(r"[\"$`!\\]")
_GAP: Final = re.compile(r"(?<=\S)  +(?=\S)")
_LABEL: Final = re.compile(r" *[A-Za-z][\w -]{0,24}: ")
_NARROWEST: Final = 30
"""Minimum width of a folded column."""


def spell_seconds(seconds: float) -> str:
    """Format a duration as kubectl does, with the two largest units. Negative seconds count as zero."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return _two_units(whole // 60, "m", whole % 60, "s")
    if whole < 86400:
        return _two_units(whole // 3600, "h", whole // 60 % 60, "m")
    return _two_units(whole // 86400, "d", whole // 3600 % 24, "h")


def spell_moment(moment: datetime, zone: tzinfo | None) -> str:
    """Format a time in `zone`; in the local time zone if that is None."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def spell_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names, and the number of the others."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def spell_list(words: Sequence[str], last: str = "and") -> str:
    """Return "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def first_sentence(text: str) -> str:
    sentence, _, rest = text.partition(". ")
    return f"{sentence}." if rest else sentence


def fold(text: str, width: int, hanging: str = "") -> list[str]:
    """Wrap text at `width` characters. A name is broken only if it is longer than a line."""
    return wrap(text, width, subsequent_indent=hanging, break_on_hyphens=False)


def quoted(text: str) -> str:
    """Quote text as one argument of a command to paste, so that text from the cluster is never executed."""
    return shlex.quote(text) if _ACTS_IN_QUOTES.search(text) else f'"{text}"'


def fit(line: str, width: int) -> list[str]:
    """Wrap a line at `width` characters. Its last column stays aligned if there is room for it.

    A command to paste is not wrapped: a line break that the terminal adds is not copied. A command at the end
    of a sentence gets its own line.
    """
    if len(line) <= width or _COMMAND.match(line):
        return [line]
    if found := _ENDS_WITH_COMMAND.search(line):
        head = line[: found.start()].rstrip()
        return [*fit(head, width), f"{' ' * (len(line) - len(line.lstrip()) + 4)}{found[0]}"]
    columns = [found.end() for found in _GAP.finditer(line)]
    indent = len(line) - len(line.lstrip())
    below = indent + (4 if columns or _LABEL.match(line) else 0)
    hanging = columns[-1] if columns and columns[-1] <= width - _NARROWEST else below
    return wrap(
        line,
        width,
        subsequent_indent=" " * min(hanging, max(width // 2, width - _NARROWEST)),
        break_on_hyphens=False,
    )


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns. The last column may have any width."""
    columns = list(zip(*rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns[:-1]]
    return [
        "   ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])).rstrip()
        for row in rows
    ]


def _two_units(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large}{unit}{small:02d}{smaller}" if small else f"{large}{unit}"
