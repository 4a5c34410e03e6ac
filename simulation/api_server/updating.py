"""PUT and PATCH: new versions of objects."""

from collections.abc import Callable
from typing import Any

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Content
from simulation.api_server.calls import Call
from simulation.api_server.creating import check_write, insert, read_document, undecodable, writer_of
from simulation.api_server.decoding import Undecodable
from simulation.api_server.kinds import Kind
from simulation.api_server.managed_fields import apply_fields, record_update, without_entries
from simulation.api_server.patches import json_patch, merge_patch
from simulation.api_server.statuses import (
    Refusal,
    bad_request,
    conflict,
    invalid,
    not_found,
    stale_uid,
    unsupported_media_type,
    wrong,
)
from simulation.api_server.storage import Object, encode

Entries = list[dict[str, Any]]


def replace(call: Call) -> ApiResponse:
    """Handle PUT. Some kinds are created by it if the object does not exist."""
    document = read_document(call)
    kind, key = call.kind, call.route.key
    stored = call.table.rows.get(key)
    old = None if stored is None else stored.object
    try:
        new = kind.read(document, None)
    except Undecodable as error:
        raise undecodable(kind, error) from error
    _require_same_place(call, new)
    if old is None:
        return _create_by_put(call, new)
    uid = new["metadata"].get("uid")
    if uid and uid != old["metadata"]["uid"]:
        present = old["metadata"]["uid"]
        raise stale_uid(kind.resource, key, uid, present, custom=kind.is_custom, dry=call.dry)
    return _store(call, old, new, _updated_entries(call, old, new, document))


def _create_by_put(call: Call, new: Object) -> ApiResponse:
    kind = call.kind
    uid = new["metadata"].get("uid")
    if not kind.creates_on_put or call.route.subresource:
        raise not_found(kind.resource, call.route.name)
    if uid:
        raise stale_uid(kind.resource, call.route.key, uid, "", custom=kind.is_custom, dry=call.dry)
    call.authorize("create")
    entries = record_update(kind.schema, kind.resets(""), kind.empty, new, [], writer_of(call))
    return call.backend.answer(201, insert(call, new, entries).body)


def patch(call: Call) -> ApiResponse:
    """Handle PATCH according to the content type of its body."""
    changes: dict[Content, Callable[[Object, Any], Any]] = {
        Content.MERGE_PATCH: merge_patch,
        Content.JSON_PATCH: json_patch,
    }
    if call.request.content is Content.APPLY_PATCH:
        return _apply(call)
    change = changes.get(call.request.content)
    if change is None:
        raise unsupported_media_type([*changes, Content.APPLY_PATCH])
    stored = call.table.rows.get(call.route.key)
    if stored is None:
        raise not_found(call.kind.resource, call.route.name)
    old, document = stored.object, call.body()
    if change is merge_patch and not isinstance(document, dict):
        raise bad_request("error decoding patch: a merge patch is an object")
    patched = change(old, document)
    new = _read_patched(call.kind, patched, old)
    _require_same_place(call, new)
    return _store(call, old, new, _updated_entries(call, old, new, patched))


def _read_patched(kind: Kind, patched: Any, old: Object) -> Object:
    if not isinstance(patched, dict):
        raise bad_patch("the patched object is no object")
    try:
        return old if patched is old else kind.read(patched, old)
    except Undecodable as error:
        raise bad_patch(str(error)) from error


def bad_patch(why: str) -> Refusal:
    return invalid("", "", "", [wrong("patch", "", why)])


def _updated_entries(call: Call, old: Object, new: Object, document: dict[str, Any]) -> Entries:
    """Return the managed fields after an update.

    A document can replace them, or clear them with an empty list.
    """
    kind = call.kind
    before: Entries = old["metadata"].get("managedFields", [])
    if new is old:
        return before
    entries = before
    given = document["metadata"].get("managedFields")
    if given is not None and given is not before and not call.route.subresource:
        # The server reads a custom object's metadata twice, and an empty list does not survive the first
        # read.
        if given == [{}] or (given == [] and not kind.is_custom):
            return []
        entries = new["metadata"].get("managedFields", before)
        if not all(
            entry.get("operation") in {"Apply", "Update"} and "fieldsV1" in entry for entry in entries
        ):
            entries = before
    if not entries:
        return []
    return record_update(kind.schema, kind.resets(call.route.subresource), old, new, entries, writer_of(call))


def _apply(call: Call) -> ApiResponse:
    kind, route = call.kind, call.route
    if not call.manager:
        raise invalid(
            "PatchOptions", "meta.k8s.io", "", [wrong("fieldManager", "", "is required for apply patch")]
        )
    document = call.body()
    stored = call.table.rows.get(route.key)
    if stored is None and route.subresource:
        raise not_found(kind.resource, route.name)
    _require_appliable(call, document)
    force = call.query.get("force") == "true"
    old = kind.empty if stored is None else stored.object
    applied, entries = apply_fields(
        kind.schema, kind.resets(route.subresource), (kind.empty, old), document, writer_of(call), force=force
    )
    try:
        new = kind.read_applied(applied, None if stored is None else old)
    except Undecodable as error:
        raise Refusal(500, "InternalError", f"failed to create typed patch object: {error}") from error
    _require_same_place(call, new)
    if stored is None:
        call.authorize("create")
        return call.backend.answer(201, insert(call, new, entries).body)
    return _store(call, old, new, entries)


def _require_appliable(call: Call, document: Any) -> None:
    resource = call.route.resource
    if not isinstance(document, dict):
        raise bad_request("error decoding YAML: an object is wanted")
    given = (document.get("apiVersion"), document.get("kind"))
    if given != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {given}")
    if (document.get("metadata") or {}).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")


def _require_same_place(call: Call, new: Object) -> None:
    metadata, route = new["metadata"], call.route
    given = metadata.get("namespace", route.namespace)
    if route.resource.namespaced and given != route.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if metadata.get("name") != route.name:
        given_name = metadata.get("name", "")
        raise bad_request(
            f"the name of the object ({given_name}) does not match the name on the URL ({route.name})"
        )


def _store(call: Call, old: Object, new: Object, entries: Entries) -> ApiResponse:
    """Check a new version and store it, unless it is equal to the old one."""
    kind, route, backend = call.kind, call.route, call.backend
    touched = new["metadata"] is not old["metadata"]
    if new is not old:
        _require_version(call, old, new)
        new = _with_kept_metadata(new, old, entries)
        new = kind.prepare_update(kind.admit(new, old, route.subresource), old, route.subresource)
    denials = check_write(call, old, new, metadata_touched=touched)
    new = _unless_only_times(new, old)
    call.refuse_by_policy(route.name, denials)
    if _ends_deletion(new, old):
        call.remove(route.key)
        return backend.answer(200, encode(new))
    if new == old:
        return backend.answer(200, call.table.rows[route.key].body)
    return backend.answer(200, call.put(route.key, new).body)


def _require_version(call: Call, old: Object, new: Object) -> None:
    given = new["metadata"].get("resourceVersion") or "0"
    if given == old["metadata"]["resourceVersion"]:
        return
    if not given.isdigit():
        raise Refusal(500, "", f'strconv.ParseUint: parsing "{given}": invalid syntax')
    if int(given) != 0:
        raise conflict(call.kind.resource, call.route.name)
    if not call.kind.updates_without_version:
        cause = wrong("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(call.kind.resource.plural, call.kind.resource.group, call.route.name, [cause])


def _with_kept_metadata(new: Object, old: Object, entries: Entries) -> Object:
    """Restore the metadata that clients cannot change, and set the computed managed fields."""
    before, after = old["metadata"], new["metadata"]
    if after is before and entries is before.get("managedFields"):
        return new
    made = {**after, "managedFields": entries, "resourceVersion": before["resourceVersion"]}
    made["creationTimestamp"] = before["creationTimestamp"]
    made.setdefault("uid", before["uid"])
    _keep(made, before, "namespace")
    _keep(made, before, "generation")
    if "deletionTimestamp" in before:
        made["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        made.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if not entries:
        del made["managedFields"]
    return {**new, "metadata": made}


def _keep(made: dict[str, Any], before: dict[str, Any], name: str) -> None:
    if name in before:
        made[name] = before[name]
    else:
        made.pop(name, None)


def _unless_only_times(new: Object, old: Object) -> Object:
    """Return `old` if the write changes only timestamps of managed fields: the server then stores nothing."""
    for name, part in new.items():
        known = old.get(name)
        if part is not known and name != "metadata" and part != known:
            return new
    mine, theirs = new["metadata"].get("managedFields", []), old["metadata"].get("managedFields", [])
    if mine is theirs or len(mine) != len(theirs) or without_entries(new) != without_entries(old):
        return new
    timeless = [[{**entry, "time": ""} for entry in entries] for entries in (mine, theirs)]
    return old if timeless[0] == timeless[1] else new


def _ends_deletion(new: Object, old: Object) -> bool:
    """Return whether the write removed the last finalizer of an object whose deletion needs nothing else."""
    metadata = old["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not new["metadata"].get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )
