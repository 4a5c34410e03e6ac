"""Compares documents by field: fields that a write removed, modified or added, and fields that exist.

The rules are those of structured merge: a struct or map is compared field by field unless it is atomic; a
list is one value unless it is a set or keyed; a new container is a member together with everything in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from simulation.api_server.field_sets import EMPTY, HERE, LEAF, FieldSet, union
from simulation.api_server.schema import ABSENT, ANYTHING, Schema, Shape, Ties


@dataclass(slots=True)
class Comparison:
    """The result of a comparison. The sets are whole and disjoint."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def written(self) -> FieldSet:
        return union(self.modified, self.added)


Parts = tuple[FieldSet | None, FieldSet | None, FieldSet | None]
SAME: Final[Parts] = (None, None, None)
REMOVED: Final[Parts] = (LEAF, None, None)
MODIFIED: Final[Parts] = (None, LEAF, None)
ADDED: Final[Parts] = (None, None, LEAF)


def compare(schema: Schema, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Compare the stored object with the object that a write requests."""
    removed, modified, added = _walk(schema, old, new)
    return Comparison(removed or EMPTY, modified or EMPTY, added or EMPTY)


def _walk(schema: Schema, old: Any, new: Any) -> Parts:
    if old is new:
        return SAME
    present = new if old is ABSENT or old is None else old
    if schema.by_field and isinstance(present, dict):
        olds = old if isinstance(old, dict) else EMPTY
        news = new if isinstance(new, dict) else EMPTY
        if olds or news:
            return _with_itself(_zip(schema, olds, news, "f:"), old, new)
    elif schema.by_item and isinstance(present, list):
        olds, news = _items(schema, old), _items(schema, new)
        if olds or news:
            return _with_itself(_zip(schema, olds, news, ""), old, new)
    return _leaf(old, new)


def _leaf(old: Any, new: Any) -> Parts:
    if old is ABSENT:
        return ADDED
    if new is ABSENT:
        return REMOVED
    return SAME if type(old) is type(new) and old == new else MODIFIED


def _zip(schema: Schema, old: dict[str, Any], new: dict[str, Any], prefix: str) -> Parts:
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    pairs = [(name, old.get(name, ABSENT), part) for name, part in new.items()]
    if not old.keys() <= new.keys():
        pairs += [(name, part, ABSENT) for name, part in old.items() if name not in new]
    for name, before, after in pairs:
        if before is after:
            continue
        below = (schema.below(name) if prefix else schema.element) or ANYTHING
        lost, touched, gained = _walk(below, before, after)
        if lost is not None:
            removed[prefix + name] = lost
        if touched is not None:
            modified[prefix + name] = touched
        if gained is not None:
            added[prefix + name] = gained
    return (removed or None, modified or None, added or None)


def _with_itself(parts: Parts, old: Any, new: Any) -> Parts:
    """Add the container itself if it was created or removed: it is a member together with its contents."""
    removed, modified, added = parts
    if old is ABSENT:
        return (removed, modified, {HERE: LEAF, **added} if added else LEAF)
    if new is ABSENT:
        return ({HERE: LEAF, **removed} if removed else LEAF, modified, added)
    return parts


def _items(schema: Schema, value: Any) -> dict[str, Any]:
    return {item_name(schema, item): item for item in value} if isinstance(value, list) else {}


def item_name(schema: Schema, item: Any) -> str:
    """Return the path element of one item of a set or keyed list."""
    if schema.ties is Ties.KEYED and isinstance(item, dict):
        keys = {key: item.get(key) for key in sorted(schema.keys) if key in item}
        return "k:" + msgspec.json.encode(keys).decode()
    return "v:" + msgspec.json.encode(item).decode()


def field_set(schema: Schema, value: Any) -> FieldSet:
    """Return all fields that a document names. An apply makes its manager own exactly these fields."""
    return _owned(schema, value) or EMPTY


def _owned(schema: Schema, value: Any) -> FieldSet | None:
    if schema.by_field and isinstance(value, dict):
        return _owned_parts(
            (
                f"f:{name}",
                schema.below(name) or ANYTHING,
                part,
                name not in schema.fields or part in ({}, None),
            )
            for name, part in value.items()
        )
    if schema.by_item and isinstance(value, list):
        element = schema.element or ANYTHING
        return _owned_parts((item_name(schema, item), element, item, True) for item in value)
    # A null in place of a struct, map or list owns nothing itself; the caller adds it as a member.
    return None if schema.by_item or (schema.by_field and schema.shape is not Shape.ANY) else LEAF


def _owned_parts(named: Iterable[tuple[str, Schema, Any, bool]]) -> FieldSet | None:
    made: FieldSet = {}
    for name, schema, part, always in named:
        owned = _owned(schema, part)
        if always:
            owned = {HERE: LEAF, **owned} if owned else LEAF
        if owned is not None:
            made[name] = owned
    return made or None
