"""Foreign text made safe to show: nothing in it moves a cursor, begins a line of its own or hides another."""

from typing import Final

LONGEST_TEXT: Final = 2048
_ELLIPSIS: Final = "…"


def printable(text: str, most: int = LONGEST_TEXT) -> str:
    """The text in at most `most` characters, with all that does not simply print written as an escape.

    Node and condition strings are written by others. A line break in one must not look like our next line,
    and an escape sequence must not reach a terminal.
    """
    if len(text) > most:
        text = text[: most - len(_ELLIPSIS)] + _ELLIPSIS
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
