"""Makes foreign text safe to show: it cannot move a cursor, start a new line or hide other text."""

import json
from typing import Final

LONGEST_TEXT: Final = 2048
_ELLIPSIS: Final = "…"


def printable(text: str, most: int = LONGEST_TEXT) -> str:
    """The text in at most `most` characters, with everything that is not printable written as an escape.

    Other programs write the strings of Nodes and conditions. A line break in one must not look like the next
    line of Nodemend, and an escape sequence must not reach a terminal.
    """
    text = _cut(text, most)
    if text.isprintable():
        return text
    escaped = "".join(character if character.isprintable() else _escaped(character) for character in text)
    return _cut(escaped, most)


def printable_lines(text: str) -> str:
    """The same for a text whose line breaks are Nodemend's own."""
    return "\n".join(printable(line) for line in text.split("\n"))


def printable_json(document: str) -> str:
    """The same JSON, with everything that is not printable as an escape. Only strings can contain that."""
    if document.replace("\n", "").isprintable():
        return document
    return "".join(
        character if character.isprintable() or character == "\n" else json.dumps(character)[1:-1]
        for character in document
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(_ELLIPSIS)] + _ELLIPSIS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
