"""JSON patches of the sequences: some apply, some fail."""

from typing import Any, Final

Operations = list[dict[str, Any]]

APP: Final = "/metadata/labels/app"


def json_patches(name: str, version: str) -> tuple[Operations, ...]:
    """Return patches for an object of this name; `version` is a resourceVersion to test for."""
    return (
        [{"op": "add", "path": "/metadata/labels", "value": {"app": "b"}}],
        [{"op": "add", "path": APP, "value": "b"}],
        [{"op": "remove", "path": APP}],
        [{"op": "remove", "path": "/metadata/labels"}],
        [{"op": "replace", "path": APP, "value": "c"}],
        [{"op": "test", "path": APP, "value": "a"}, {"op": "replace", "path": APP, "value": "b"}],
        [
            {"op": "test", "path": "/metadata/name", "value": name},
            {"op": "add", "path": "/metadata/annotations", "value": {"note": "j"}},
        ],
        [{"op": "remove", "path": "/metadata/finalizers"}],
        [{"op": "add", "path": "/metadata/finalizers", "value": ["a.io/b"]}],
        [{"op": "add", "path": "/metadata/finalizers/-", "value": "c.io/d"}],
        [{"op": "remove", "path": "/metadata/finalizers/0"}],
        [{"op": "add", "path": "/spec/taints/-", "value": {"key": "j", "effect": "NoSchedule"}}],
        [{"op": "remove", "path": "/spec/taints/0"}],
        [{"op": "replace", "path": "/spec/size", "value": 3}],
        [{"op": "replace", "path": "/spec/size", "value": "3"}],
        [{"op": "add", "path": "/spec/rules/0", "value": {"key": "j"}}],
        [{"op": "replace", "path": "/spec/holderIdentity", "value": "j"}],
        [{"op": "move", "from": APP, "path": "/metadata/labels/moved"}],
        [{"op": "copy", "from": APP, "path": "/metadata/labels/copied"}],
        [{"op": "test", "path": "/metadata/resourceVersion", "value": version}],
        [],
    )
