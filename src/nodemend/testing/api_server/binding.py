"""POST to a pod's binding: how a scheduler gives it a node."""

from nodemend.api.group_versions import Resource
from nodemend.kube.api_reply import Answer
from nodemend.testing.api_server.admission import Operation
from nodemend.testing.api_server.calls import Call
from nodemend.testing.api_server.kinds import with_metadata
from nodemend.testing.api_server.statuses import bad_request, conflict, not_found
from nodemend.testing.api_server.storage import Object

BINDING = Resource("", "v1", "Binding", "pods/binding")


def bind(call: Call) -> Answer:
    """A pod gets its node once."""
    document = call.body()
    target = document.get("target") if isinstance(document, dict) else None
    if not isinstance(target, dict) or not target.get("name"):
        raise bad_request("a binding names its target")
    # Policies are asked before anybody looks whether there is such a pod.
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
