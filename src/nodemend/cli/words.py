"""How we put numbers, times and names into words."""

import re
import shlex
from collections.abc import Sequence
from datetime import datetime, tzinfo
from textwrap import wrap
from typing import Final

_COMMAND: Final = re.compile(r"(Next: +| +[a-z][a-z ,]*: +| +)kubectl ")
_ENDS_WITH_COMMAND: Final = re.compile(r"(?<=: )kubectl (?!.*: kubectl ).*$")
_ACTS_IN_QUOTES: Final = re.compile(r"[\"$`!\\]")
_GAP: Final = re.compile(r"(?<=\S)  +(?=\S)")
_LABEL: Final = re.compile(r" *[A-Za-z][\w -]{0,24}: ")
_NARROWEST: Final = 30
"""Columns that a folded column has at least."""


def spell_seconds(seconds: float) -> str:
    """As kubectl does: the two largest units. Time that has not passed yet is none."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return _two_units(whole // 60, "m", whole % 60, "s")
    if whole < 86400:
        return _two_units(whole // 3600, "h", whole // 60 % 60, "m")
    return _two_units(whole // 86400, "d", whole // 3600 % 24, "h")


def spell_moment(moment: datetime, zone: tzinfo | None) -> str:
    """In `zone`; None is wherever the reader is."""
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def spell_names(names: Sequence[str], most: int = 5) -> str:
    """The first few, and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def spell_list(words: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def first_sentence(text: str) -> str:
    sentence, _, rest = text.partition(". ")
    return f"{sentence}." if rest else sentence


def fold(text: str, width: int, hanging: str = "") -> list[str]:
    """In lines of at most so many letters. A name is broken only where it is longer than a line."""
    return wrap(text, width, subsequent_indent=hanging, break_on_hyphens=False)


def quoted(text: str) -> str:
    """As one word of a command that somebody pastes: what others wrote must not run there."""
    return shlex.quote(text) if _ACTS_IN_QUOTES.search(text) else f'"{text}"'


def fit(line: str, width: int) -> list[str]:
    """A line of ours in lines of at most so many letters: its last column stays one, if there is room for it.

    A command to paste is left whole: a terminal's own line break is none where it is copied. One that ends a
    sentence stands below it.
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


def align(rows: Sequence[Sequence[str]], gap: str = "   ") -> list[str]:
    """Rows as lines with their columns below one another. The last column may be as long as it likes."""
    columns = list(zip(*rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns[:-1]]
    return [
        gap.join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])).rstrip()
        for row in rows
    ]


def _two_units(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large}{unit}{small:02d}{smaller}" if small else f"{large}{unit}"
