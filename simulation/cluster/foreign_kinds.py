"""Custom kinds of other projects, with arbitrary spec and status."""

from typing import Any

from nodemend.api.resources import Resource

Object = dict[str, Any]


def foreign(kind: str) -> Resource:
    return Resource("example.com", "v1", kind, f"{kind.lower()}s")


def a_definition(resource: Resource) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}
        },
    }
    return {
        "metadata": {"name": str(resource)},
        "spec": {
            "group": resource.group,
            "names": {"kind": resource.kind, "plural": resource.plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def a_reference(kind: str) -> Object:
    """Return a reference to the kind's template `usual`."""
    named = {"name": "usual", "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": f"{kind}Template", **named}
