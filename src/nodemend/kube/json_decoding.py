"""Decoding straight from bytes into types: one decoder a type, and one list of what bytes can do to it."""

import re
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All that decoding raises for bytes that are not what they should be."""

_LONGEST_REASON: Final = 200
_PATTERN: Final = re.compile(r"Expected `str` matching regex '.*' - at", re.DOTALL)

_DECODERS: "dict[type, msgspec.json.Decoder[Any]]" = {}


def decoder_of(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """One decoder a type: making one costs as much as a thousand uses."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return decoder


def unreadable_because(error: BaseException) -> str:
    """One short line for people. A form is named by its field, not by its regular expression."""
    text = _PATTERN.sub("Text of another form than is allowed - at", str(error))
    if len(text) > _LONGEST_REASON:
        text = text[: _LONGEST_REASON - 1] + "…"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")[:_LONGEST_REASON]
