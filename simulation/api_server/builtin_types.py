"""The field types of built-in kinds, from `builtin_types.json`.

Each type is a table from field to expression:

    string bool int32 int64 number bytes quantity time microtime intstr any    a scalar
    @NAME                                                                     another table
    {T}   {T} atomic                                                          a map
    [T]   [T] set   [T] by KEY,KEY                                            a list, and its ownership

The prefix `=` means that a zero value is always written, `-` that it is left out. No prefix means that the
field is a pointer: null is left out, zero is kept. The entry `*: atomic` makes the whole table one owned
value.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from simulation.api_server.schema import Schema, Shape, Ties, Zero, fill_names

SCALARS: Final = {
    "string": Shape.STRING,
    "bool": Shape.BOOLEAN,
    "int32": Shape.INTEGER,
    "int64": Shape.INTEGER,
    "number": Shape.NUMBER,
    "double": Shape.NUMBER,
    "bytes": Shape.BYTES,
    "quantity": Shape.QUANTITY,
    "time": Shape.TIME,
    "microtime": Shape.MICRO_TIME,
    "intstr": Shape.INT_OR_STRING,
    "any": Shape.ANY,
}
MARKS: Final = {"=": Zero.WRITTEN, "-": Zero.DROPPED}


@cache
def builtin_type(name: str) -> Schema:
    """Return a type by its short name, such as `core.v1.Node`. The same name returns the same object."""
    return _struct(name, Zero.KEPT)


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    text = files("simulation.api_server").joinpath("builtin_types.json").read_text()
    tables: Mapping[str, Mapping[str, str]] = json.loads(text)
    return tables


@cache
def _struct(name: str, zero: Zero) -> Schema:
    table = dict(_tables()[name])
    ties = Ties.ATOMIC if table.pop("*", "") == "atomic" else Ties.GRANULAR
    fields = {field: _parse(expression) for field, expression in table.items()}
    return Schema(Shape.STRUCT, fields, ties=ties, zero=zero, fills=fill_names(fields))


@cache
def _parse(expression: str) -> Schema:
    zero = MARKS.get(expression[0], Zero.KEPT)
    text = expression if zero is Zero.KEPT else expression[1:]
    if text.startswith("@"):
        return _struct(text[1:], zero)
    if text.startswith("{"):
        inner, _, rest = text[1:].rpartition("}")
        ties = Ties.ATOMIC if rest.strip() == "atomic" else Ties.GRANULAR
        return Schema(Shape.MAP, element=_parse(inner), ties=ties, zero=zero)
    if text.startswith("["):
        return _list(text[1:], zero)
    return Schema(SCALARS[text], zero=zero, keeps_unknown=text == "any")


def _list(text: str, zero: Zero) -> Schema:
    inner, _, rest = text.rpartition("]")
    element = _parse(inner)
    match rest.split():
        case ["set"]:
            return Schema(Shape.LIST, element=element, ties=Ties.SET, zero=zero)
        case ["by", keys]:
            return Schema(
                Shape.LIST, element=element, ties=Ties.KEYED, keys=tuple(keys.split(",")), zero=zero
            )
        case _:
            return Schema(Shape.LIST, element=element, ties=Ties.ATOMIC, zero=zero)
