"""Schemas: the allowed values of a field, and how field managers share its parts.

Types of built-in kinds are in `builtin_types.json`. Each is a table from field to expression:

    string bool int32 int64 number bytes quantity time microtime intstr any    a scalar
    @NAME                                                                     another table
    {T}   {T} atomic                                                          a map
    [T]   [T] set   [T] by KEY,KEY                                            a list, and its ownership

The prefix `=` means that a zero value is always written, `-` that it is left out. No prefix means that the
field is a pointer: null is left out, zero is kept. The entry `*: atomic` makes the whole table one owned
value.

Types of custom kinds are the structural schemas of their CRDs.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from functools import cache
from importlib.resources import files
from typing import Any, Final


class Shape(IntEnum):
    """Shape of a value. The members are integers because they are looked up very often."""

    STRUCT = auto()
    MAP = auto()
    LIST = auto()
    STRING = auto()
    INTEGER = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    INT_OR_STRING = auto()
    QUANTITY = auto()
    TIME = auto()
    MICRO_TIME = auto()
    BYTES = auto()
    ANY = auto()


class Ties(IntEnum):
    """Ownership of the parts of a map or list."""

    GRANULAR = auto()  # each field or key separately
    ATOMIC = auto()  # the whole value
    SET = auto()  # each value separately
    KEYED = auto()  # each item separately, by the values of its keys


class Zero(IntEnum):
    """Serialization of a zero value in a field of a built-in kind."""

    KEPT = auto()  # unchanged; an absent field stays absent
    DROPPED = auto()
    WRITTEN = auto()  # also if the field was absent


ABSENT: Final = object()
"""Marks a missing default, because null can be a default."""


@dataclass(slots=True, eq=False)
class Schema:
    """One type. All fields of that type share it, so it must not change once it is complete."""

    shape: Shape
    fields: dict[str, "Schema"] = field(default_factory=dict)
    element: "Schema | None" = None
    keys: tuple[str, ...] = ()
    ties: Ties = Ties.GRANULAR
    zero: Zero = Zero.KEPT
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Constraints of a CRD's schema beyond the type, under their names in the CRD."""
    default: Any = ABSENT
    nullable: bool = False
    keeps_unknown: bool = False
    # Fields to fill in if they are absent: fields with a default, or with a zero that is always written.
    fills: tuple[str, ...] = ()
    # True if each field, or each item, is owned separately.
    by_field: bool = field(init=False)
    by_item: bool = field(init=False)

    def __post_init__(self) -> None:
        atomic = self.ties is Ties.ATOMIC
        self.by_field = not atomic and self.shape in {Shape.STRUCT, Shape.MAP, Shape.ANY}
        self.by_item = not atomic and self.shape is Shape.LIST

    def below(self, name: str) -> "Schema | None":
        """Return the type of one field or key, or None if there is no such field."""
        return self.fields.get(name) or self.element


ANYTHING: Final = Schema(Shape.ANY, keeps_unknown=True)


def fill_names(fields: Mapping[str, Schema]) -> tuple[str, ...]:
    return tuple(
        name for name, schema in fields.items() if schema.default is not ABSENT or schema.zero is Zero.WRITTEN
    )


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


SHAPES: Final = {
    "string": Shape.STRING,
    "integer": Shape.INTEGER,
    "number": Shape.NUMBER,
    "boolean": Shape.BOOLEAN,
}
LIST_STRUCTURES: Final = {"atomic": Ties.ATOMIC, "set": Ties.SET, "map": Ties.KEYED}


def root_schema(document: Mapping[str, Any]) -> Schema:
    """Return the type of whole objects, including the metadata that every object has."""
    root = parse_schema(document)
    fields = {
        **root.fields,
        "apiVersion": Schema(Shape.STRING),
        "kind": Schema(Shape.STRING),
        "metadata": builtin_type("meta.v1.ObjectMeta"),
    }
    return Schema(Shape.STRUCT, fields, rules=root.rules, keeps_unknown=root.keeps_unknown, fills=root.fills)


def parse_schema(document: Mapping[str, Any]) -> Schema:
    schema = _shaped(document)
    schema.rules = document
    schema.nullable = bool(document.get("nullable"))
    if "default" in document:
        schema.default = read_custom(schema, document["default"])
    return schema


def _shaped(document: Mapping[str, Any]) -> Schema:
    keeps = bool(document.get("x-kubernetes-preserve-unknown-fields"))
    if document.get("x-kubernetes-int-or-string"):
        return Schema(Shape.INT_OR_STRING)
    match document.get("type"):
        case "object" if "additionalProperties" in document:
            inner = document["additionalProperties"]
            element = parse_schema(inner) if isinstance(inner, dict) else ANYTHING
            return Schema(Shape.MAP, element=element, ties=_map_structure(document))
        case "object":
            fields = {name: parse_schema(part) for name, part in document.get("properties", {}).items()}
            return Schema(
                Shape.STRUCT,
                fields,
                element=ANYTHING if keeps else None,
                ties=_map_structure(document),
                keeps_unknown=keeps,
                fills=fill_names(fields),
            )
        case "array":
            return Schema(
                Shape.LIST,
                element=parse_schema(document["items"]),
                ties=LIST_STRUCTURES[document.get("x-kubernetes-list-type", "atomic")],
                keys=tuple(document.get("x-kubernetes-list-map-keys", ())),
            )
        case str() as name:
            return Schema(SHAPES[name])
        case _:
            return Schema(Shape.ANY, keeps_unknown=True)


def _map_structure(document: Mapping[str, Any]) -> Ties:
    return Ties.ATOMIC if document.get("x-kubernetes-map-type") == "atomic" else Ties.GRANULAR


def read_custom(schema: Schema, value: Any, old: Any = ABSENT, *, drops_nulls: bool = True) -> Any:
    """Return `value` without unknown fields and with defaults.

    With `drops_nulls`, nulls that the schema does not allow are removed. Otherwise they stay, so that the
    checks refuse them, unless the field has a default. Values of a wrong type stay in both cases.
    """
    if value is old:
        return value
    if isinstance(value, dict):
        return _read_map(schema, value, old if isinstance(old, dict) else {}, drops_nulls=drops_nulls)
    if isinstance(value, list) and schema.element is not None:
        before = old if isinstance(old, list) and len(old) == len(value) else [ABSENT] * len(value)
        pairs = zip(value, before, strict=True)
        return [read_custom(schema.element, item, known, drops_nulls=drops_nulls) for item, known in pairs]
    return value


def _read_map(
    schema: Schema, value: Mapping[str, Any], before: Mapping[str, Any], *, drops_nulls: bool
) -> dict[str, Any]:
    made = {}
    for name, part in value.items():
        below = schema.below(name)
        if below is None:
            if schema.keeps_unknown or schema.shape not in {Shape.STRUCT, Shape.MAP}:
                made[name] = part
            continue
        if part is None and not below.nullable and (drops_nulls or below.default is not ABSENT):
            continue
        known = before.get(name, ABSENT)
        made[name] = part if part is known else read_custom(below, part, known, drops_nulls=drops_nulls)
    for name in schema.fills:
        if name not in made:
            made[name] = schema.fields[name].default
    return made
