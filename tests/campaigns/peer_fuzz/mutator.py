"""Makes inputs from valid ones: changed bytes, and JSON with other contents. Randomness comes from a seed."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from random import Random
from typing import Any, Final

LONGEST: Final = 8192
_HUGE: Final = 200_000
"""Bytes of the rare very large inputs."""
_ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**63,
    10**30,
    1.5,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    "",
    "a",
    "\x00",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "9" * 400,
    [],
    {},
    [[]],
    [{}],
    {"": ""},
)
_ODD_BYTES: Final = (
    b"",
    b"\x00",
    b"\xff",
    b"\n",
    b"\r",
    b"\x0b",
    b"\x1c",
    b" ",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"null",
    b"1e999",
    b"-",
    b"\\ud800",
    b"\xed\xa0\x80",
    b"9" * 25,
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 2000,
)


class Mutator:
    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def turned(self, seed: bytes, other: bytes) -> bytes:
        """A few places flipped, cut, doubled, or taken from another input."""
        data = bytearray(seed)
        for _ in range(self._chance.choice((1, 1, 1, 2, 4, 8))):
            self._turn(data, other)
        if self._chance.random() < 0.0005:
            data *= _HUGE // max(1, len(data))
            return bytes(data)
        return bytes(data[:LONGEST])

    def rewritten(self, seed: bytes, other: bytes) -> bytes:
        """The same document with one or a few values changed; or changed bytes if it is not a document."""
        try:
            document = json.loads(seed)
        except (ValueError, RecursionError):
            return self.turned(seed, other)
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            document = self._change(document)
        try:
            return json.dumps(document, separators=(",", ":")).encode("utf-8", "surrogatepass")[:LONGEST]
        except (ValueError, RecursionError):
            return self.turned(seed, other)

    def sealed(self, seed: bytes, other: bytes) -> bytes:
        """A record with a corrected checksum, so that its contents are parsed."""
        body = self.turned(seed, other).rpartition(b" ")[0]
        return b"%s %08x\n" % (body, crc32(body))

    def token(self, seed: bytes, other: bytes) -> bytes:
        """A JWT with other claims."""
        parts = seed.split(b".")
        if len(parts) != 3:
            return self.turned(seed, other)
        try:
            claims = urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4))
        except ValueError:
            return self.turned(seed, other)
        return b".".join((parts[0], urlsafe_b64encode(self.rewritten(claims, claims)).rstrip(b"="), parts[2]))

    def _turn(self, data: bytearray, other: bytes) -> None:
        chance = self._chance
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 8, 64)))
        match chance.randrange(6):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * chance.choice((1, 2, 50))
            case 3:
                start = chance.randrange(len(other) + 1)
                data[at:end] = other[start : start + chance.choice((1, 8, 64))]
            case 4 if at < len(data):
                data[at] = chance.randrange(256)
            case _:
                data[at:end] = chance.choice(_ODD_BYTES)

    def _change(self, value: Any) -> Any:
        """Change one value somewhere in it, or the whole."""
        chance = self._chance
        if not value or not isinstance(value, dict | list) or chance.random() < 0.15:
            return self._odd(value)
        if isinstance(value, list):
            index = chance.randrange(len(value))
            return [*value[:index], self._change(value[index]), *value[index + 1 :]]
        key = chance.choice(list(value))
        match chance.randrange(8):
            case 0:
                return {other: kept for other, kept in value.items() if other != key}
            case 1:
                return {**value, f"{key}{chance.choice('xX_')}": value[key]}
            case 2:
                return {**value, key: value[chance.choice(list(value))]}
            case _:
                return {**value, key: self._change(value[key])}

    def _odd(self, value: Any) -> Any:
        chance = self._chance
        if isinstance(value, str) and chance.random() < 0.6:
            return self._text(value)
        if isinstance(value, int | float) and chance.random() < 0.5:
            return chance.choice((-value, value + 1, value * 1000, value / 3))
        return chance.choice(_ODD_VALUES)

    def _text(self, value: str) -> str:
        """Annotations are JSON in a string: the inner document is changed as well."""
        if value[:1] in ("{", "["):
            return self.rewritten(value.encode("utf-8", "surrogatepass"), b"{}").decode("utf-8", "replace")
        at = self._chance.randrange(len(value) + 1)
        return self._chance.choice(
            (value + "x", value[:at], value[at:], value.upper(), value * 2, f" {value}")
        )
