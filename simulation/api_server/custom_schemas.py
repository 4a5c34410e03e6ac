"""Structural schemas of CRDs: parse `openAPIV3Schema` into a Schema, and read documents with it."""

from collections.abc import Mapping
from typing import Any, Final

from simulation.api_server.builtin_types import builtin_type
from simulation.api_server.schema import ABSENT, ANYTHING, Schema, Shape, Ties, fill_names

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
