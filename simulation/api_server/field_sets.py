"""Sets of field paths in the form of `fieldsV1`, and their algebra.

A set is a tree of dicts. A path is a member if its node is `{}`, or has the key `.` beside children. The root
is never a member, so an empty root is the empty set. No function changes its arguments; each returns an
argument itself if the result is equal to it.
"""

from typing import Any, Final

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


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the members of `one` that are not members of `other`. Children of removed members stay."""
    if not one or not other:
        return one
    kept = _kept(one, other, recursive=False)
    return one if kept is None else kept


def recursive_difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the members of `one` that are neither members of `other` nor below one."""
    if not one or not other:
        return one
    kept = _kept(one, other, recursive=True)
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
