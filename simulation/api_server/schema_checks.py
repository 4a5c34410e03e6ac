"""Checks a custom object against its schema. Parts that an update does not change are not checked."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import inf
from typing import Any, Final

from simulation.api_server.decoding import canonical_time
from simulation.api_server.fields import item_name
from simulation.api_server.schema import ABSENT, Schema, Shape, Ties
from simulation.api_server.statuses import (
    Cause,
    duplicate,
    not_supported,
    required,
    too_long,
    too_many,
    wrong,
    wrong_type,
)

TYPES: Final[Mapping[Shape, tuple[str, tuple[type, ...]]]] = {
    Shape.STRUCT: ("object", (dict,)),
    Shape.MAP: ("object", (dict,)),
    Shape.LIST: ("array", (list,)),
    Shape.STRING: ("string", (str,)),
    Shape.INTEGER: ("integer", (int,)),
    Shape.NUMBER: ("number", (int, float)),
    Shape.BOOLEAN: ("boolean", (bool,)),
    Shape.INT_OR_STRING: ("integer or string", (int, str)),
}
JSON_NAMES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
STOPS_RULES: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""After one of these errors, the CEL rules of a CRD are not evaluated."""


def check(schema: Schema, new: Any, old: Any, path: str) -> Iterator[Cause]:
    """Yield the errors in `new`, except in parts that are equal in `old`."""
    if new is old or (old is not ABSENT and type(new) is type(old) and new == old):
        return
    expected = TYPES.get(schema.shape)
    if new is None and schema.nullable:
        return
    if expected is not None and type(new) not in expected[1]:
        yield wrong_type(path, JSON_NAMES[type(new)], f"{path} in body must be of type {expected[0]}")
        return
    yield from CHECKS.get(type(new), _no_checks)(schema, new, old, path)
    enum = schema.rules.get("enum")
    if enum and new not in enum:
        yield not_supported(path, new, tuple(enum))


def _check_map(schema: Schema, new: Any, old: Any, path: str) -> Iterator[Cause]:
    before = old if isinstance(old, dict) else {}
    for name, part in new.items():
        below = schema.below(name)
        if below is not None:
            yield from check(below, part, before.get(name, ABSENT), f"{path}.{name}" if path else name)
    rules = schema.rules
    for name in rules.get("required", ()):
        if name not in new:
            yield required(f"{path}.{name}" if path else name)
    if len(new) > rules.get("maxProperties", inf):
        yield too_many(path, len(new), rules["maxProperties"])
    if len(new) < rules.get("minProperties", 0):
        yield wrong(path, new, f"{path} in body should have at least {rules['minProperties']} properties")


def _check_list(schema: Schema, new: Any, old: Any, path: str) -> Iterator[Cause]:
    before = _correlated(schema, old)
    if schema.element is not None:
        for index, item in enumerate(new):
            known = before.get(item_name(schema, item), ABSENT) if before else ABSENT
            yield from check(schema.element, item, known, f"{path}[{index}]")
    rules = schema.rules
    if len(new) > rules.get("maxItems", inf):
        yield too_many(path, len(new), rules["maxItems"])
    if len(new) < rules.get("minItems", 0):
        yield wrong(path, len(new), f"{path} in body should have at least {rules['minItems']} items")


def _correlated(schema: Schema, old: Any) -> dict[str, Any]:
    """Return old items by their keys. Only items of keyed lists are matched with new ones."""
    if schema.ties is not Ties.KEYED or not isinstance(old, list):
        return {}
    return {item_name(schema, item): item for item in old}


def _check_text(schema: Schema, new: Any, _old: Any, path: str) -> Iterator[Cause]:
    rules = schema.rules
    if len(new) > rules.get("maxLength", inf):
        yield too_long(path, rules["maxLength"])
    if len(new) < rules.get("minLength", 0):
        yield wrong(path, new, f"{path} in body should be at least {rules['minLength']} chars long")
    pattern = rules.get("pattern")
    if pattern and not _compiled(pattern).search(new):
        yield wrong(path, new, f"{path} in body should match '{pattern}'")
    if rules.get("format") == "date-time" and not _is_time(new):
        yield wrong_type(path, new, f"{path} in body must be of type date-time")


def _check_number(schema: Schema, new: Any, _old: Any, path: str) -> Iterator[Cause]:
    rules = schema.rules
    if new < rules.get("minimum", -inf):
        yield wrong(path, new, f"{path} in body should be greater than or equal to {rules['minimum']}")
    if new > rules.get("maximum", inf):
        yield wrong(path, new, f"{path} in body should be less than or equal to {rules['maximum']}")


def _no_checks(_schema: Schema, _new: Any, _old: Any, _path: str) -> Iterator[Cause]:
    return iter(())


CHECKS: Final[Mapping[type, Callable[[Schema, Any, Any, str], Iterator[Cause]]]] = {
    dict: _check_map,
    list: _check_list,
    str: _check_text,
    int: _check_number,
    float: _check_number,
}


def check_uniqueness(schema: Schema, value: Any, path: str) -> Iterator[Cause]:
    """Yield duplicate items of sets, and items of keyed lists with the same keys."""
    if isinstance(value, dict):
        for name, part in value.items():
            below = schema.below(name)
            if below is not None:
                yield from check_uniqueness(below, part, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and schema.element is not None:
        seen = set()
        for index, item in enumerate(value):
            if schema.ties in {Ties.SET, Ties.KEYED}:
                name = item_name(schema, item)
                if name in seen:
                    yield duplicate(f"{path}[{index}]", name)
                seen.add(name)
            yield from check_uniqueness(schema.element, item, f"{path}[{index}]")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _is_time(text: str) -> bool:
    try:
        canonical_time(text.upper().replace(" ", "T"))
    except ValueError:
        return False
    return True
