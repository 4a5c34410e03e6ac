"""DELETE: immediate, after a grace period, or after the last finalizer is removed; or a whole collection."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from simulation.api_server.admission import Operation
from simulation.api_server.calls import Call
from simulation.api_server.decoding import print_time
from simulation.api_server.kinds import with_metadata
from simulation.api_server.reading import filter_of, list_body
from simulation.api_server.statuses import (
    bad_request,
    invalid,
    not_found,
    not_supported,
    stale_precondition,
    wrong,
)
from simulation.api_server.storage import Object, encode
from simulation.api_server.watching import WatchCache

POLICIES: Final = ("Background", "Foreground", "Orphan")
COLLECTOR_FINALIZERS: Final = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a deletion."""

    grace: int | None = None
    policy: str = ""
    orphans: bool | None = None
    uid: str | None = None
    version: str | None = None
    dry: bool = False


def with_options(call: Call) -> tuple[Call, DeleteOptions]:
    """Return the call and its options. If there is a body, only the body can request a dry run."""
    options = read_options(call)
    if call.request.body:
        call = replace(call, query={**call.query, "dryRun": "All" if options.dry else ""})
    return call, options


def read_options(call: Call) -> DeleteOptions:
    """Read the options from the body, or without a body from the query. Raises Refusal 400 or 422."""
    if not call.request.body:
        grace = call.query.get("gracePeriodSeconds")
        options = DeleteOptions(int(grace) if grace else None, call.query.get("propagationPolicy", ""))
    else:
        options = _from_body(call.body())
    causes = []
    if options.policy and options.policy not in POLICIES:
        causes.append(not_supported("propagationPolicy", options.policy, POLICIES))
    if options.policy and options.orphans is not None:
        causes.append(wrong("propagationPolicy", options.policy, "not together with orphanDependents"))
    if causes:
        raise invalid("DeleteOptions", "meta.k8s.io", "", causes)
    return options


def _from_body(body: Any) -> DeleteOptions:
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error")
    if body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request("decoded object cannot be converted to DeleteOptions")
    conditions = body.get("preconditions") or {}
    return DeleteOptions(
        grace=body.get("gracePeriodSeconds"),
        policy=body.get("propagationPolicy") or "",
        orphans=body.get("orphanDependents"),
        uid=conditions.get("uid"),
        version=conditions.get("resourceVersion"),
        dry=body.get("dryRun") == ["All"],
    )


def delete(call: Call) -> ApiResponse:
    call, options = with_options(call)
    body, gone = delete_object(call, call.route.key, options, asked_for=call.route.name)
    accepted = not gone and options.orphans is False
    return call.backend.answer(202 if accepted else 200, body)


def delete_object(call: Call, key: str, options: DeleteOptions, *, asked_for: str) -> tuple[bytes, bool]:
    """Delete one object; return the body of the answer and True if the object is gone.

    `asked_for` is the name that policies receive: empty for a deletion of a collection.
    """
    kind, stored = call.kind, call.table.rows.get(key)
    if stored is None:
        raise not_found(kind.resource, call.route.name)
    old = stored.object
    _require(kind.internal, old, options)
    now = call.backend.now()
    step = _next_step(call, old, options, now)
    if step is None:
        return _answer_body(call, old), False
    call.refuse_by_policy(asked_for, call.denials(Operation.DELETE, old, None))
    marked = with_collector_finalizers(step.object, options) if kind.knows_collector else step.object
    finalizers = marked["metadata"].get("finalizers")
    if not step.graceful and finalizers:
        marked = _marked_now(marked, now)
    if step.graceful or finalizers:
        if marked != old:
            stored = call.put(key, marked)
        if finalizers or step.grace > 0:
            return stored.body, False
        if call.dry:
            return stored.body, True
    return _answer_body(call, call.remove(key)), True


@dataclass(frozen=True, slots=True)
class _Step:
    """The object as this deletion marks it, before its finalizers are checked."""

    object: Object
    graceful: bool
    grace: int


def _require(resource: Resource, old: Object, options: DeleteOptions) -> None:
    metadata = old["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise stale_precondition(resource, metadata["name"], why)
    if options.version is not None and options.version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise stale_precondition(resource, metadata["name"], why)


def _next_step(call: Call, old: Object, options: DeleteOptions, now: datetime) -> _Step | None:
    """Return the next step, or None if a deletion in progress already does all that this one requests."""
    metadata = old["metadata"]
    asked = 1 if options.grace is not None and options.grace < 0 else options.grace
    grace = call.kind.grace(old, asked)
    if grace is None:
        return _Step(old, graceful=False, grace=0)
    if "deletionTimestamp" not in metadata:
        generation = metadata.get("generation", 0)
        marked = with_metadata(
            old,
            deletionTimestamp=print_time((now + timedelta(seconds=grace)).replace(microsecond=0)),
            deletionGracePeriodSeconds=grace,
            generation=generation + 1 if generation else None,
        )
        return _Step(marked, graceful=True, grace=grace)
    left = metadata.get("deletionGracePeriodSeconds")
    if not left:
        return _Step(old, graceful=False, grace=0)
    if asked is None or asked >= left:
        return None
    return _shortened(old, left, asked, now)


def _shortened(old: Object, left: int, asked: int, now: datetime) -> _Step:
    end = datetime.fromisoformat(old["metadata"]["deletionTimestamp"])
    end += timedelta(seconds=asked - left)
    period = asked
    if end < now.astimezone(UTC):
        end = now
        period = asked and 1
    marked = with_metadata(
        old, deletionTimestamp=print_time(end.replace(microsecond=0)), deletionGracePeriodSeconds=period
    )
    return _Step(marked, graceful=True, grace=asked)


def with_collector_finalizers(old: Object, options: DeleteOptions) -> Object:
    """Return the object with the finalizers that make the garbage collector act before the deletion."""
    present = old["metadata"].get("finalizers", [])
    wanted = [one for one in present if one not in COLLECTOR_FINALIZERS.values()]
    if options.orphans is not None:
        policy = "Orphan" if options.orphans else ""
    elif options.policy:
        policy = options.policy
    else:
        policy = next((name for name, one in COLLECTOR_FINALIZERS.items() if one in present), "")
    if policy in COLLECTOR_FINALIZERS:
        wanted.append(COLLECTOR_FINALIZERS[policy])
    if set(wanted) == set(present):
        return old
    return with_metadata(old, finalizers=wanted or None)


def _marked_now(old: Object, now: datetime) -> Object:
    metadata = old["metadata"]
    stamp, present = print_time(now.replace(microsecond=0)), metadata.get("deletionTimestamp")
    generation = metadata.get("generation", 0)
    return with_metadata(
        old,
        deletionTimestamp=stamp if present is None or present > stamp else present,
        deletionGracePeriodSeconds=0,
        generation=generation + 1 if generation and present is None else generation or None,
    )


def _answer_body(call: Call, object_: Object) -> bytes:
    if call.kind.returns_deleted:
        return encode(object_)
    resource, metadata = call.kind.resource, object_["metadata"]
    details = {
        "name": metadata["name"],
        "group": resource.group,
        "kind": resource.plural,
        "uid": metadata["uid"],
    }
    return encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )


def delete_collection(call: Call, _cache: WatchCache) -> ApiResponse:
    """Delete the selected objects. The answer contains their last versions before the deletion."""
    call, options = with_options(call)
    chosen = filter_of(call)
    revision = call.backend.storage.revision
    prefix = f"{chosen.namespace}/" if chosen.namespace else ""
    rows = [
        row
        for key in call.table.keys
        if key.startswith(prefix) and chosen.matches((row := call.table.rows[key]).object)
    ]
    for row in rows:
        namespace, _, name = row.key.rpartition("/")
        one = replace(call, route=replace(call.route, namespace=namespace, name=name))
        delete_object(one, row.key, options, asked_for="Unknown")
    metadata = {"resourceVersion": str(revision)}
    return call.backend.answer(200, list_body(call, metadata, rows))
