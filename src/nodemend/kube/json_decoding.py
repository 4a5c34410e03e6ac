"""Decoding straight from bytes into types: one decoder a type, and one list of what bytes can do to it."""

from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All that decoding raises for bytes that are not what they should be."""

_DECODERS: "dict[type, msgspec.json.Decoder[Any]]" = {}


def decoder_of(kind: type[T]) -> "msgspec.json.Decoder[T]":
    """One decoder a type: making one costs as much as a thousand uses."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return decoder
