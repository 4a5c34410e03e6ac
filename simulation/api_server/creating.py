"""POST: new objects, and the binding of a pod to a node."""

from collections.abc import Mapping
from typing import Any

from nodemend.api.resources import NAMESPACE, Resource
from nodemend.kube.outcome import ApiResponse
from simulation.api_server.admission import Denial, Operation, violations
from simulation.api_server.calls import Call
from simulation.api_server.decoding import Undecodable
from simulation.api_server.kinds import Kind, with_metadata
from simulation.api_server.managed_fields import Writer, record_update
from simulation.api_server.object_meta import check_changed, check_name, check_new
from simulation.api_server.schema_checks import STOPS_RULES
from simulation.api_server.statuses import (
    Refusal,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from simulation.api_server.storage import Object, Stored

NOT_FOR_CLIENTS = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def create(call: Call) -> ApiResponse:
    document = read_document(call)
    try:
        new = call.kind.read(document, None)
    except Undecodable as error:
        raise undecodable(call.kind, error) from error
    metadata = {key: part for key, part in new["metadata"].items() if key not in NOT_FOR_CLIENTS}
    new = {**new, "metadata": metadata}
    writer = writer_of(call)
    kind = call.kind
    entries = record_update(kind.schema, kind.resets(""), kind.empty, new, [], writer)
    stored = insert(call, new, entries)
    return call.backend.answer(201, stored.body)


def read_document(call: Call) -> dict[str, Any]:
    """Return the body as an object of this kind. Raises Refusal 400."""
    document = call.body()
    resource = call.route.resource
    if not isinstance(document, dict):
        raise bad_request("couldn't get version/kind; json parse error")
    given = (document.get("apiVersion") or "", document.get("kind") or "")
    if call.kind.is_custom and not given[1]:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object 'Kind' is missing"
        )
    wanted = (resource.api_version, resource.kind)
    if any(mine and mine != theirs for mine, theirs in zip(given, wanted, strict=True)):
        raise bad_request(
            f"the API version in the data ({given[0]}) does not match the expected API version ({wanted[0]})"
        )
    return {**document, "apiVersion": wanted[0], "kind": wanted[1]}


def undecodable(kind: Kind, error: Undecodable) -> Exception:
    name, version = kind.resource.kind, kind.resource.version
    return bad_request(f'{name} in version "{version}" cannot be handled as a {name}: {error}')


def writer_of(call: Call) -> Writer:
    return Writer(
        call.manager,
        call.route.resource.api_version,
        call.route.subresource,
        call.backend.stamp(),
    )


def insert(call: Call, new: Object, entries: list[dict[str, Any]]) -> Stored:
    """Admit, prepare, check and store an object that does not exist yet."""
    kind, backend, route = call.kind, call.backend, call.route
    metadata = with_namespace(new["metadata"], call)
    metadata |= {
        "uid": backend.new_uid(),
        "creationTimestamp": backend.stamp(),
        "managedFields": entries,
    }
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + backend.new_uid()[-5:]
    if not entries:
        del metadata["managedFields"]
    _require_namespace(call)
    new = kind.authored({**new, "metadata": metadata}, call.user)
    new = kind.prepare_create(kind.admit(new, None, route.subresource))
    name = metadata.get("name", "")
    denials = check_write(call, None, new)
    call.refuse_by_policy(name, denials)
    if metadata.get("resourceVersion"):
        raise Refusal(500, "", "resourceVersion should not be set on objects to be created")
    key = f"{route.namespace}/{name}" if kind.resource.namespaced else name
    present = call.table.rows.get(key)
    if present is not None:
        deleting = "deletionTimestamp" in present.object["metadata"]
        raise already_exists(kind.resource, name, deleting=deleting)
    return call.put(key, new)


def check_write(
    call: Call, old: Object | None, new: Object, *, metadata_touched: bool = True
) -> list[Denial]:
    """Return the denials of policies. Raises Refusal 422 if the object breaks the rules of its kind."""
    kind, name = call.kind, new["metadata"].get("name", "")
    if old is None:
        causes = [*check_name(name, fits=kind.names_fit(name)), *check_new(new["metadata"])]
    elif metadata_touched:
        causes = list(check_changed(new["metadata"], old["metadata"]))
    else:
        causes = []
    causes += kind.check(new, old, call.route.subresource)
    if any(cause.reason in STOPS_RULES for cause in causes):
        raise invalid(new["kind"], kind.internal.group, name, causes)
    denials = call.denials(Operation.CREATE if old is None else Operation.UPDATE, old, new)
    causes += violations(denials)
    if causes:
        raise invalid(new["kind"], kind.internal.group, name, causes)
    return denials


def with_namespace(metadata: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """Return metadata with the request's namespace. Raises Refusal 400 if the object names another one."""
    namespace = call.route.namespace
    given = metadata.get("namespace", "")
    if not call.route.resource.namespaced:
        return {key: value for key, value in metadata.items() if key != "namespace"}
    if given and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    return {**metadata, "namespace": namespace} if namespace else dict(metadata)


def _require_namespace(call: Call) -> None:
    namespace = call.route.namespace
    if not namespace:
        return
    row = call.backend.tables[NAMESPACE].rows.get(namespace)
    if row is None:
        raise not_found(NAMESPACE, namespace)
    if "deletionTimestamp" in row.object["metadata"]:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(call.route.resource, call.route.name, why)


BINDING = Resource("", "v1", "Binding", "pods/binding")


def bind(call: Call) -> ApiResponse:
    """Assign a node to a pod. A pod is bound at most once."""
    document = call.body()
    target = document.get("target") if isinstance(document, dict) else None
    if not isinstance(target, dict) or not target.get("name"):
        raise bad_request("a binding names its target")
    # The real server evaluates policies before it looks up the pod.
    call.refuse_by_policy(call.route.name, call.denials(Operation.CREATE, None, document))
    stored = call.table.rows.get(call.route.key)
    if stored is None:
        raise not_found(call.kind.resource, call.route.name)
    pod = stored.object
    if "deletionTimestamp" in pod["metadata"]:
        raise conflict(
            BINDING, call.route.name, f"pod {call.route.name} is being deleted, cannot be assigned to a host"
        )
    node = pod["spec"].get("nodeName")
    if node:
        raise conflict(
            BINDING, call.route.name, f'pod {call.route.name} is already assigned to node "{node}"'
        )
    now = call.backend.stamp()
    call.put(call.route.key, _bound(pod, target["name"], now))
    body = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
    return call.backend.answer(201, body)


def _bound(pod: Object, node: str, now: str) -> Object:
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    others = [one for one in pod["status"].get("conditions", ()) if one["type"] != "PodScheduled"]
    bound = {
        **pod,
        "spec": {**pod["spec"], "nodeName": node},
        "status": {**pod["status"], "conditions": [*others, scheduled]},
    }
    return with_metadata(bound)
