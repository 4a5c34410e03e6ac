"""Sets of field paths in the form of `fieldsV1`, their algebra, and documents as such sets.

A set is a tree of dicts. A path is a member if its node is `{}`, or has the key `.` beside children. The root
is never a member, so an empty root is the empty set. No function changes its arguments; each returns an
argument itself if the result is equal to it.

Documents are compared by the rules of structured merge: a struct or map is compared field by field unless it
is atomic; a list is one value unless it is a set or keyed; a new container is a member together with
everything in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from simulation.api_server.schema import ABSENT, ANYTHING, Schema, Shape, Ties

FieldSet = dict[str, Any]

HERE: Final = "."
LEAF: Final[FieldSet] = {}
EMPTY: Final[FieldSet] = {}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the union of two whole sets."""
    if not one or not other:
        return one or other
    return _union(one, other)


def _union(one: FieldSet, other: FieldSet) -> FieldSet:
    if one is other:
        return one
    if not one or not other:
        more = one or other
        return more if not more or HERE in more else {HERE: LEAF, **more}
    made = one
    for name, part in other.items():
        known = one.get(name)
        if known is None:
            joined = part
        elif name == HERE:
            continue
        else:
            joined = _union(known, part)
            if joined is known:
                continue
        made = dict(one) if made is one else made
        made[name] = joined
    return made


def difference(one: FieldSet, other: FieldSet, *, recursive: bool = False) -> FieldSet:
    """Return the members of `one` that are not members of `other`.

    With `recursive`, children of removed members are removed, too; otherwise they stay.
    """
    if not one or not other:
        return one
    kept = _kept(one, other, recursive=recursive)
    return one if kept is None else kept


def _kept(one: FieldSet, other: FieldSet, *, recursive: bool) -> FieldSet | None:
    """Return the children of `one` that remain, or None if all remain."""
    made: FieldSet | None = None
    for name, part in one.items():
        taken = other.get(name)
        if taken is None or name == HERE:
            continue
        left = _remainder(part, taken, recursive=recursive)
        if left is part:
            continue
        made = dict(one) if made is None else made
        if left is None:
            del made[name]
        else:
            made[name] = left
    return made


def _remainder(one: FieldSet, other: FieldSet, *, recursive: bool) -> FieldSet | None:
    taken_here = is_member(other)
    if recursive and taken_here:
        return None
    kept = _kept(one, other, recursive=recursive) if other and one else None
    left = one if kept is None else kept
    if not is_member(one) or not taken_here:
        # A node that lost all its children stays only if it is a member itself.
        if left is one:
            return one
        return left if left.keys() - {HERE} else (LEAF if is_member(one) else None)
    children = {name: part for name, part in left.items() if name != HERE}
    return children or None


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the intersection of two whole sets."""
    made = {}
    for name, part in one.items():
        if name in other and name != HERE:
            both = _overlap(part, other[name])
            if both is not None:
                made[name] = both
    return made


def _overlap(one: FieldSet, other: FieldSet) -> FieldSet | None:
    children = intersection(one, other)
    if is_member(one) and is_member(other):
        return {HERE: LEAF, **children} if children else LEAF
    return children or None


def overlap(one: FieldSet, other: FieldSet) -> bool:
    """Return whether two whole sets have a member in common."""
    for name, part in other.items():
        known = one.get(name)
        if known is None or name == HERE:
            continue
        if (not known or HERE in known) and (not part or HERE in part):
            return True
        if known and part and overlap(known, part):
            return True
    return False


def is_member(node: FieldSet) -> bool:
    return not node or HERE in node


def children_of(node: FieldSet) -> FieldSet:
    return {name: part for name, part in node.items() if name != HERE}


def members(fields: FieldSet, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return every member as a path: first the members at this level, then those below."""
    parts = sorted((name, part) for name, part in fields.items() if name != HERE)
    found = [(*path, name) for name, part in parts if is_member(part)]
    for name, part in parts:
        found += members(part, (*path, name))
    return found


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
