"""POST to a pod's binding: the scheduler assigns a node."""

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from simulation.api_server.admission import Operation
from simulation.api_server.calls import Call
from simulation.api_server.kinds import with_metadata
from simulation.api_server.statuses import bad_request, conflict, not_found
from simulation.api_server.storage import Object

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
