"""From our types to the structural schemas by which the API server checks them.

Descriptions, limits and rules come from `about(...)` and from each type's RULES, required fields from missing
defaults. Nothing is written twice.
"""

from collections.abc import Mapping
from enum import Enum
from functools import singledispatch
from typing import Any

import msgspec
from msgspec import inspect

from nodemend.api.meta import ObjectMeta, Rule, Wire

Schema = dict[str, Any]

_HEADER: Schema = {
    "apiVersion": {"type": "string", "description": "The version of this form of the object."},
    "kind": {"type": "string", "description": "The kind of the object."},
}


class UnsupportedTypeError(TypeError):
    """A type that has no place in a structural schema, or none yet in ours."""


def schema_of_kind(type_: type[Wire]) -> Schema:
    """The schema of a whole object: what `schema_of` says, with apiVersion, kind and metadata."""
    schema = schema_of(type_)
    schema["properties"] = _HEADER | schema["properties"]
    return schema


def schema_of(type_: type[Wire]) -> Schema:
    return _translate(inspect.type_info(type_))


@singledispatch
def _translate(of: inspect.Type) -> Schema:
    raise UnsupportedTypeError(f"{of} cannot be part of an API type")


@_translate.register
def _(of: inspect.Metadata) -> Schema:
    schema = _translate(of.type) | (of.extra_json_schema or {})
    extra = of.extra or {}
    rules: tuple[Rule, ...] = extra.get("rules", ())
    if rules:
        # The refusal of a pattern shows people a regular expression. The rule beside it says it in words.
        schema.pop("pattern", None)
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in rules] + schema.get(
            "x-kubernetes-validations", []
        )
    if keys := extra.get("keys"):
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    if example := extra.get("example"):
        schema["example"] = example
    return schema


@_translate.register
def _(of: inspect.StructType) -> Schema:
    if of.cls is ObjectMeta:
        return {"type": "object"}
    schema: Schema = {
        "type": "object",
        "properties": {field.encode_name: _translate_field(field) for field in of.fields},
    }
    if of.cls.__doc__:
        schema["description"] = _one_line(of.cls.__doc__)
    if required := [field.encode_name for field in of.fields if field.required]:
        schema["required"] = required
    if issubclass(of.cls, Wire) and of.cls.RULES:
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in of.cls.RULES]
    return schema


@_translate.register
def _(of: inspect.UnionType) -> Schema:
    """`X | None`, for absence is how nothing looks on the wire, and Kubernetes' own `int | str`."""
    some = [part for part in of.types if not isinstance(part, inspect.NoneType)]
    if {type(part) for part in some} == {inspect.IntType, inspect.StrType}:
        return {"x-kubernetes-int-or-string": True}
    if len(some) != 1:
        raise UnsupportedTypeError(f"a choice of types cannot be part of an API type: {of}")
    return _translate(some[0])


@_translate.register
def _(of: inspect.StrType) -> Schema:
    limits = {"minLength": of.min_length, "maxLength": of.max_length, "pattern": of.pattern}
    return {"type": "string"} | _given(limits)


@_translate.register
def _(of: inspect.IntType) -> Schema:
    return {"type": "integer", "format": "int64"} | _given({"minimum": of.ge, "maximum": of.le})


@_translate.register
def _(of: inspect.BoolType) -> Schema:
    return {"type": "boolean"}


@_translate.register
def _(of: inspect.EnumType) -> Schema:
    return {"type": "string", "enum": [member.value for member in of.cls]}


@_translate.register
def _(of: inspect.VarTupleType) -> Schema:
    limits = {"minItems": of.min_length, "maxItems": of.max_length}
    return {"type": "array", "items": _translate(of.item_type), "x-kubernetes-list-type": "atomic"} | _given(
        limits
    )


@_translate.register
def _(of: inspect.DictType) -> Schema:
    limits = {"minProperties": of.min_length, "maxProperties": of.max_length}
    return {"type": "object", "additionalProperties": _translate(of.value_type)} | _given(limits)


def _translate_field(field: inspect.Field) -> Schema:
    schema = _translate(field.type)
    default = field.default
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, str | int) and default:
        schema["default"] = default
    elif field.encode_name == "spec" and isinstance(default, msgspec.Struct) and _has_defaults(schema):
        # The API server fills in fields only of objects that are there.
        schema["default"] = {}
    return schema


def _has_defaults(schema: Schema) -> bool:
    return any("default" in below for below in schema["properties"].values())


def _rule(rule: Rule) -> Schema:
    written: Schema = {"rule": rule.expression, "message": rule.message}
    if rule.field:
        written["fieldPath"] = rule.field
    if rule.from_creation:
        written["optionalOldSelf"] = True
    return written


def _given(limits: Mapping[str, object]) -> Schema:
    return {key: limit for key, limit in limits.items() if limit is not None}


def _one_line(text: str) -> str:
    return " ".join(text.split())
