"""Merges an applied document into the stored object, and removes fields that their owner no longer names."""

from typing import Any

from simulation.api_server.field_comparison import item_name
from simulation.api_server.field_sets import HERE, LEAF, FieldSet, children_of, is_member
from simulation.api_server.schema import ABSENT, ANYTHING, Schema, Shape, Ties


def merge(schema: Schema, old: Any, applied: Any) -> Any:
    """Return `old` with every field that `applied` names. Atomic parts are replaced whole."""
    if old is ABSENT or old is None or applied is None or schema.ties is Ties.ATOMIC:
        return applied
    if isinstance(old, dict) and isinstance(applied, dict):
        made = dict(old)
        for name, part in applied.items():
            made[name] = merge(schema.below(name) or ANYTHING, old.get(name, ABSENT), part)
        return made
    if isinstance(old, list) and isinstance(applied, list) and schema.shape is Shape.LIST:
        return _merge_items(schema, old, applied)
    return applied


def _merge_items(schema: Schema, old: list[Any], applied: list[Any]) -> list[Any]:
    """Merge two lists. Items in both are in the applied order; other items keep their relative position."""
    left = {item_name(schema, item): item for item in old}
    right = {item_name(schema, item): item for item in applied}
    element = schema.element or ANYTHING
    shared = [name for name in right if name in left]
    made: list[Any] = []
    old_names, new_names = list(left), list(right)
    done: set[str] = set()
    while old_names or new_names:
        if old_names and new_names and old_names[0] == new_names[0]:
            name = old_names.pop(0)
            new_names.pop(0)
            made.append(merge(element, left[name], right[name]))
            done.add(name)
            shared = [other for other in shared if other != name]
            continue
        if old_names and new_names and old_names[0] in right and shared and shared[0] != old_names[0]:
            old_names.pop(0)
            continue
        if old_names and old_names[0] not in right:
            made.append(left[old_names.pop(0)])
            continue
        if old_names and old_names[0] in done:
            old_names.pop(0)
        if new_names:
            name = new_names.pop(0)
            made.append(merge(element, left.get(name, ABSENT), right[name]))
            done.add(name)
            shared = [other for other in shared if other != name]
    return made


def without(schema: Schema, value: Any, fields: FieldSet) -> Any:
    """Return `value` without the members of `fields`; None if a map or list becomes empty."""
    if schema.ties is Ties.ATOMIC:
        return None
    if isinstance(value, dict):
        kept = {}
        for name, part in value.items():
            left = _part_without(schema.below(name) or ANYTHING, part, fields.get(f"f:{name}"))
            if left is not ABSENT:
                kept[name] = left
        return kept or None
    if isinstance(value, list):
        element = schema.element or ANYTHING
        items = (_part_without(element, item, fields.get(item_name(schema, item))) for item in value)
        return [item for item in items if item is not ABSENT] or None
    return value


def _part_without(schema: Schema, part: Any, node: FieldSet | None) -> Any:
    if node is None:
        return part
    if is_member(node):
        return ABSENT
    return without(schema, part, node)


def with_named_fields(schema: Schema, fields: FieldSet) -> FieldSet:
    """Return the set with every struct field on the path to a member added as a member."""
    made = {}
    for name, node in fields.items():
        if name == HERE:
            made[name] = node
            continue
        field = schema.fields.get(name[2:]) if name.startswith("f:") else None
        below = field or (schema.element if schema.element is not None else ANYTHING)
        inner = with_named_fields(below, children_of(node))
        member = is_member(node) or field is not None
        if inner:
            made[name] = {HERE: LEAF, **inner} if member else inner
        else:
            made[name] = LEAF
    return made
