import pytest

from simulation.api_server.patches import json_patch, merge_patch
from simulation.api_server.statuses import Refusal


def test_a_merge_patch_that_changes_nothing_returns_the_same_object() -> None:
    old = {"a": {"b": [1, 2]}, "c": "d"}

    assert merge_patch(old, {"a": {"b": [1, 2]}, "c": "d", "e": None}) is old


def test_a_merge_patch_shares_what_it_leaves_and_never_touches_the_old() -> None:
    old = {"kept": {"deep": 1}, "changed": {"x": 1, "y": 2}, "gone": 3}

    new = merge_patch(old, {"changed": {"x": None, "z": {"n": None, "m": 1}}, "gone": None})

    assert new == {"kept": {"deep": 1}, "changed": {"y": 2, "z": {"m": 1}}}
    assert new["kept"] is old["kept"]
    assert old == {"kept": {"deep": 1}, "changed": {"x": 1, "y": 2}, "gone": 3}


def test_a_number_does_not_pass_for_a_truth() -> None:
    assert merge_patch({"a": 1}, {"a": True})["a"] is True


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([{"op": "add", "path": "/list/1", "value": "x"}], {"list": ["a", "x", "b"], "map": {"k": "v"}}),
        ([{"op": "add", "path": "/list/-", "value": "x"}], {"list": ["a", "b", "x"], "map": {"k": "v"}}),
        ([{"op": "remove", "path": "/list/0"}], {"list": ["b"], "map": {"k": "v"}}),
        (
            [{"op": "replace", "path": "/map/new", "value": 1}],
            {"list": ["a", "b"], "map": {"k": "v", "new": 1}},
        ),
        ([{"op": "move", "from": "/map/k", "path": "/k"}], {"list": ["a", "b"], "map": {}, "k": "v"}),
        ([{"op": "test", "path": "/map/k", "value": "v"}], {"list": ["a", "b"], "map": {"k": "v"}}),
        ([{"op": "add", "path": "/a~1b~0", "value": 1}], {"list": ["a", "b"], "map": {"k": "v"}, "a/b~": 1}),
    ],
)
def test_a_json_patch_edits(patch: list[dict[str, object]], expected: object) -> None:
    old = {"list": ["a", "b"], "map": {"k": "v"}}

    assert json_patch(old, patch) == expected
    assert old == {"list": ["a", "b"], "map": {"k": "v"}}


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"op": "remove", "path": "/map/none"}, 422),
        ({"op": "add", "path": "/none/deep", "value": 1}, 422),
        ({"op": "add", "path": "/list/5", "value": 1}, 422),
        ({"op": "test", "path": "/map/k", "value": "w"}, 422),
        ({"op": "dance", "path": "/map"}, 422),
        ("no operation", 400),
    ],
)
def test_a_json_patch_that_does_not_fit_is_refused(step: object, code: int) -> None:
    with pytest.raises(Refusal) as refused:
        json_patch({"list": ["a"], "map": {"k": "v"}}, [step])

    assert refused.value.code == code
