"""The algebra of field sets, held to that of plain sets of paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.api_server.fields import (
    FieldSet,
    difference,
    intersection,
    members,
    overlap,
    union,
)

Paths = frozenset[tuple[str, ...]]
PATHS = st.frozensets(
    st.lists(st.sampled_from(["f:a", "f:b", "f:c"]), min_size=1, max_size=3).map(tuple), max_size=6
)


def built(paths: Paths) -> FieldSet:
    made: FieldSet = {}
    for path in sorted(paths):
        node = made
        for name in path:
            node = node.setdefault(name, {})
    return _marked(made, paths, ())


def _marked(node: FieldSet, paths: Paths, here: tuple[str, ...]) -> FieldSet:
    children = {name: _marked(part, paths, (*here, name)) for name, part in node.items()}
    return {".": {}, **children} if children and here in paths else children


def flat(fields: FieldSet) -> Paths:
    return frozenset(members(fields))


@given(PATHS)
def test_paths_survive_the_form_on_the_wire(paths: Paths) -> None:
    assert flat(built(paths)) == paths


@pytest.mark.slow
@given(PATHS, PATHS)
def test_union_difference_and_intersection_are_those_of_sets(one: Paths, other: Paths) -> None:
    a, b = built(one), built(other)

    assert flat(union(a, b)) == one | other
    assert flat(difference(a, b)) == one - other
    assert flat(intersection(a, b)) == one & other
    assert overlap(a, b) == bool(one & other)


@pytest.mark.slow
@given(PATHS, PATHS)
def test_a_recursive_difference_takes_what_is_below_as_well(one: Paths, other: Paths) -> None:
    left = {path for path in one if not any(path[: len(taken)] == taken for taken in other)}

    assert flat(difference(built(one), built(other), recursive=True)) == left


@given(PATHS, PATHS)
def test_arguments_are_left_alone_and_returned_when_nothing_changes(one: Paths, other: Paths) -> None:
    a, b = built(one), built(other)
    before = repr((a, b))
    made = difference(a, b)

    assert repr((a, b)) == before
    assert made is a or flat(made) != one
