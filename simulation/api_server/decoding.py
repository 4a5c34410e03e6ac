"""Reads documents into built-in kinds as Go does: drops unknown fields and normalizes zero values.

Every function shares unchanged parts: a part that is the same object as in the stored version is returned
as it is, so the cost of a write depends only on the parts it changes. No function changes a value in place.

Quantities and times get the canonical forms that the server writes.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final

from simulation.api_server.schema import ABSENT, ANYTHING, Schema, Shape, Zero

DECIMAL_SUFFIXES: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
QUANTITY: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?"
)
MICRO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """Return the canonical form of a quantity. Raises ValueError if the text is not a quantity."""
    found = QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError("quantities must match the regular expression")
    digits, suffix, exponent = found.groups()
    try:
        number = Decimal(digits)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is no number") from error
    if suffix in BINARY_SUFFIXES:
        return _binary(number * 2 ** BINARY_SUFFIXES[suffix])
    if exponent is not None:
        return _exponential(number.scaleb(int(exponent)))
    return _decimal(number.scaleb(DECIMAL_SUFFIXES[suffix or ""]))


def _decimal(number: Decimal) -> str:
    for suffix, power in sorted(DECIMAL_SUFFIXES.items(), key=lambda item: -item[1]):
        scaled = number.scaleb(-power)
        if scaled == scaled.to_integral_value() and (scaled != 0 or power == 0):
            return f"{int(scaled)}{suffix}"
    return f"{int(number.scaleb(9).to_integral_value(rounding='ROUND_UP'))}n"


def _binary(number: Decimal) -> str:
    if number < 1024 and number != number.to_integral_value():
        return _decimal(number)
    for suffix, power in sorted(BINARY_SUFFIXES.items(), key=lambda item: -item[1]):
        scaled = number / 2**power
        if scaled == scaled.to_integral_value() and scaled != 0:
            return f"{int(scaled)}{suffix}"
    return str(int(number))


def _exponential(number: Decimal) -> str:
    for power in range(18, -12, -3):
        scaled = number.scaleb(-power)
        if scaled == scaled.to_integral_value() and scaled != 0:
            return f"{int(scaled)}e{power}" if power else str(int(scaled))
    return "0"


@lru_cache(maxsize=4096)
def canonical_time(text: str) -> str:
    """Return the time in UTC with whole seconds. Raises ValueError."""
    if TIME.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no time")
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def canonical_micro_time(text: str) -> str:
    """Return the time in UTC with exactly six fractional digits, the only form that the server accepts.

    Raises ValueError.
    """
    if MICRO_TIME.fullmatch(text) is None:
        raise ValueError(f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00"')
    if text.endswith("Z"):
        datetime.fromisoformat(text)
        return text
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def print_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Undecodable(ValueError):  # noqa: N818 - says what the document is
    """A value of the wrong type for its field."""


def decode(schema: Schema, value: Any, old: Any = ABSENT, path: str = "") -> Any:
    """Return `value` in the server's stored form, or ABSENT if the field is left out. Raises Undecodable."""
    if value is old:
        return value
    if value is None:
        return zero_of(schema) if schema.zero is Zero.WRITTEN else ABSENT
    return READERS[schema.shape](schema, value, old, path)


def zero_of(schema: Schema) -> Any:
    """Return the value that is written for an unset field. A struct contains the zeros of its fields."""
    match schema.shape:
        case Shape.STRUCT:
            return {name: zero_of(schema.fields[name]) for name in schema.fills}
        case Shape.STRING | Shape.BYTES:
            return ""
        case Shape.INTEGER | Shape.NUMBER | Shape.INT_OR_STRING:
            return 0
        case Shape.BOOLEAN:
            return False
        case Shape.QUANTITY:
            return "0"
        case _:
            return None


def _struct(schema: Schema, value: Any, old: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise Undecodable(f"{path}: cannot unmarshal {_kind(value)} into a struct")
    before: Mapping[str, Any] = old if isinstance(old, dict) else {}
    fields, made = schema.fields, {}
    for name, part in value.items():
        field = fields.get(name)
        if field is None:
            continue
        known = before.get(name, ABSENT)
        if part is known:
            made[name] = part
            continue
        read = decode(field, part, known, f"{path}.{name}" if path else name)
        if read is not ABSENT:
            made[name] = read
    for name in schema.fills:
        if name not in made:
            made[name] = zero_of(fields[name])
    return made


def _map(schema: Schema, value: Any, old: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise Undecodable(f"{path}: cannot unmarshal {_kind(value)} into a map")
    before: Mapping[str, Any] = old if isinstance(old, dict) else {}
    element = schema.element or ANYTHING
    made = {}
    for name, part in value.items():
        known = before.get(name, ABSENT)
        read = part if part is known else decode(element, part, known, f"{path}.{name}")
        made[name] = zero_of(element) if read is ABSENT else read
    return ABSENT if not made and schema.zero is Zero.DROPPED else made


def _list(schema: Schema, value: Any, old: Any, path: str) -> Any:
    if not isinstance(value, list):
        raise Undecodable(f"{path}: cannot unmarshal {_kind(value)} into a list")
    if not value and schema.zero is Zero.DROPPED:
        return ABSENT
    before: list[Any] = old if isinstance(old, list) else []
    element = schema.element or ANYTHING
    made = []
    for index, part in enumerate(value):
        known = before[index] if index < len(before) else ABSENT
        read = decode(element, part, known, f"{path}[{index}]")
        made.append(zero_of(element) if read is ABSENT else read)
    return made


def _scalar(kinds: tuple[type, ...], name: str) -> Callable[[Schema, Any, Any, str], Any]:
    def read(schema: Schema, value: Any, _old: Any, path: str) -> Any:
        if type(value) not in kinds:
            raise Undecodable(f"{path}: cannot unmarshal {_kind(value)} into a {name}")
        return ABSENT if not value and schema.zero is Zero.DROPPED else value

    return read


def _canonical(form: Callable[[str], str], name: str) -> Callable[[Schema, Any, Any, str], Any]:
    def read(_schema: Schema, value: Any, _old: Any, path: str) -> Any:
        text = str(value) if name == "quantity" and type(value) in {int, float} else value
        if not isinstance(text, str):
            raise Undecodable(f"{path}: cannot unmarshal {_kind(value)} into a {name}")
        try:
            return form(text)
        except ValueError as error:
            raise Undecodable(f"{path}: {error}") from error

    return read


def _anything(_schema: Schema, value: Any, _old: Any, _path: str) -> Any:
    return value


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    return names.get(type(value), type(value).__name__)


Reader = Callable[[Schema, Any, Any, str], Any]
READERS: Final[Mapping[Shape, Reader]] = {
    Shape.STRUCT: _struct,
    Shape.MAP: _map,
    Shape.LIST: _list,
    Shape.STRING: _scalar((str,), "string"),
    Shape.BYTES: _scalar((str,), "string"),
    Shape.INTEGER: _scalar((int,), "number"),
    Shape.NUMBER: _scalar((int, float), "number"),
    Shape.BOOLEAN: _scalar((bool,), "bool"),
    Shape.INT_OR_STRING: _scalar((int, str), "number or string"),
    Shape.QUANTITY: _canonical(canonical_quantity, "quantity"),
    Shape.TIME: _canonical(canonical_time, "time"),
    Shape.MICRO_TIME: _canonical(canonical_micro_time, "time"),
    Shape.ANY: _anything,
}
