"""Owner references: one pass of the controller manager's garbage collector."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.request import Content, Method, Request, item_path
from simulation.api_server.storage import Object, Storage

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"


Dependent = tuple[Resource, Object]


def collector_requests(storage: Storage) -> list[Request]:
    """Return the requests of one pass over all objects. Empty if nothing is left to collect."""
    present = [(table.resource, table.rows[key].object) for table in storage.tables() for key in table.keys]
    owners = {object_["metadata"]["uid"]: object_ for _, object_ in present}
    dependents: dict[str, list[Dependent]] = {}
    for resource, object_ in present:
        for reference in object_["metadata"].get("ownerReferences", ()):
            dependents.setdefault(reference["uid"], []).append((resource, object_))
    asked: list[Request] = []
    for resource, object_ in present:
        below = dependents.get(object_["metadata"]["uid"], [])
        if "ownerReferences" in object_["metadata"]:
            asked += _about_owners(resource, object_, owners, has_dependents=bool(below))
        asked += _about_dependents(resource, object_, below)
    return asked


def _about_owners(
    resource: Resource, object_: Object, owners: dict[str, Object], *, has_dependents: bool
) -> Iterator[Request]:
    """Delete an object without a remaining owner, and remove references to lost owners from the others.

    An owner counts as lost if it no longer exists, or if it is being deleted in the foreground and therefore
    waits for its dependents. While at least one owner remains, only the references to lost owners are
    removed.
    """
    references = object_["metadata"].get("ownerReferences", [])
    present = [one for one in references if one["uid"] in owners]
    remaining = [one for one in present if not _finalizes(owners[one["uid"]], FOREGROUND)]
    if len(remaining) == len(references):
        return
    if remaining:
        yield _merge(resource, object_, {"ownerReferences": remaining})
    elif "deletionTimestamp" not in object_["metadata"]:
        in_foreground = has_dependents and present
        yield _delete(resource, object_, "Foreground" if in_foreground else "Background")


def _about_dependents(resource: Resource, object_: Object, dependents: list[Dependent]) -> Iterator[Request]:
    """Handle the collector's finalizers: `orphan` removes references first, `foregroundDeletion` waits."""
    finalizers = object_["metadata"].get("finalizers", [])
    if "deletionTimestamp" not in object_["metadata"]:
        return
    uid = object_["metadata"]["uid"]
    if ORPHAN in finalizers:
        for kind, dependent in dependents:
            references = dependent["metadata"]["ownerReferences"]
            yield _merge(
                kind, dependent, {"ownerReferences": [one for one in references if one["uid"] != uid]}
            )
        if not dependents:
            yield _merge(resource, object_, {"finalizers": [one for one in finalizers if one != ORPHAN]})
    blocking = [dependent for _, dependent in dependents if _blocks(dependent, uid)]
    if FOREGROUND in finalizers and not blocking:
        yield _merge(resource, object_, {"finalizers": [one for one in finalizers if one != FOREGROUND]})


def _finalizes(object_: Object, finalizer: str) -> bool:
    metadata = object_["metadata"]
    return "deletionTimestamp" in metadata and finalizer in metadata.get("finalizers", ())


def _blocks(object_: Object, uid: str) -> bool:
    references = object_["metadata"].get("ownerReferences", ())
    return any(one["uid"] == uid and one.get("blockOwnerDeletion") for one in references)


def _path(resource: Resource, object_: Object) -> str:
    return item_path(resource, object_["metadata"]["name"], object_["metadata"].get("namespace", ""))


def _delete(resource: Resource, object_: Object, policy: str) -> Request:
    options = {"propagationPolicy": policy, "preconditions": {"uid": object_["metadata"]["uid"]}}
    return Request(Method.DELETE, _path(resource, object_), (), msgspec.json.encode(options))


def _merge(resource: Resource, object_: Object, change: dict[str, Any]) -> Request:
    metadata = {
        **change,
        "uid": object_["metadata"]["uid"],
        "resourceVersion": object_["metadata"]["resourceVersion"],
    }
    body = msgspec.json.encode({"metadata": metadata})
    query = (("fieldManager", "kube-controller-manager"),)
    return Request(Method.PATCH, _path(resource, object_), query, body, Content.MERGE_PATCH)
