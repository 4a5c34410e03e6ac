"""Pods: defaults, allowed changes, graceful deletion."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from nodemend.api.resources import POD, Resource
from simulation.api_server.fields import FieldSet
from simulation.api_server.kinds import STATUS, TypedKind, name_of, namespace_of, with_metadata
from simulation.api_server.statuses import Cause, forbidden_value, required, wrong
from simulation.api_server.storage import Object

SPEC_DEFAULTS: Final[dict[str, Any]] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
}
CONTAINER_DEFAULTS: Final[dict[str, Any]] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
ADMITTED: Final[dict[str, Any]] = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
WAITS_FOR_NODE: Final[tuple[dict[str, Any], ...]] = tuple(
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
)
ENDED: Final = ("Failed", "Succeeded")
MAY_CHANGE: Final = frozenset({"containers", "initContainers", "activeDeadlineSeconds", "tolerations"})


class PodKind(TypedKind):
    subresources = (STATUS, "binding")
    returns_deleted = True

    def __init__(self, resource: Resource = POD) -> None:
        super().__init__(resource, "core.v1.Pod")
        self.selectable = {
            "metadata.name": name_of,
            "metadata.namespace": namespace_of,
            "spec.nodeName": lambda pod: pod["spec"].get("nodeName", ""),
            "spec.restartPolicy": lambda pod: pod["spec"].get("restartPolicy", ""),
            "spec.schedulerName": lambda pod: pod["spec"].get("schedulerName", ""),
            "spec.serviceAccountName": lambda pod: pod["spec"].get("serviceAccountName", ""),
            "status.phase": lambda pod: pod["status"].get("phase", ""),
        }

    def resets(self, subresource: str) -> FieldSet:
        if subresource != STATUS:
            return {"f:status": {}}
        return {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}}

    def default(self, object_: Object, old: Object | None) -> Object:
        if old is not None and object_["spec"] is old["spec"]:
            return object_
        spec = {**SPEC_DEFAULTS, **object_["spec"]}
        if spec.get("containers"):
            spec["containers"] = [_default_container(one) for one in spec["containers"]]
        if "serviceAccountName" in spec:
            spec["serviceAccount"] = spec["serviceAccountName"]
        return {**object_, "spec": spec}

    def admit(self, new: Object, old: Object | None, subresource: str) -> Object:
        if subresource or (old is not None and new["spec"] is old["spec"]):
            return new
        spec = dict(new["spec"])
        if old is None:
            spec |= ADMITTED
            spec.setdefault("serviceAccountName", "default")
            spec["serviceAccount"] = spec["serviceAccountName"]
        else:
            spec = {**{name: old["spec"][name] for name in ADMITTED if name in old["spec"]}, **spec}
        given = spec.get("tolerations", [])
        missing = [one for one in WAITS_FOR_NODE if not any(_tolerates(other, one["key"]) for other in given)]
        if given or missing:
            spec["tolerations"] = [*given, *missing]
        return {**new, "spec": spec}

    def prepare_create(self, new: Object) -> Object:
        status = {"phase": "Pending", "qosClass": quality_of_service(new["spec"])}
        return with_metadata({**new, "status": status}, generation=1)

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        new = super().prepare_update(new, old, subresource)
        if subresource == STATUS:
            status = new["status"]
            if "qosClass" not in status and "qosClass" in old["status"]:
                status = {**status, "qosClass": old["status"]["qosClass"]}
            owners = old["metadata"].get("ownerReferences")
            return with_metadata({**new, "status": status}, ownerReferences=owners)
        if new["spec"] is not old["spec"] and new["spec"] != old["spec"]:
            return with_metadata(new, generation=old["metadata"]["generation"] + 1)
        return new

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
        spec = new["spec"]
        if subresource == STATUS or (old is not None and spec is old["spec"]):
            return
        yield from _check_containers(spec.get("containers") or ())
        if old is not None:
            yield from _check_spec_change(spec, old["spec"])

    def grace(self, object_: Object, asked: int | None) -> int:
        spec, phase = object_["spec"], object_["status"].get("phase")
        if not spec.get("nodeName") or phase in ENDED:
            return 0
        period = spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked
        return 1 if period < 0 else period


def _default_container(container: dict[str, Any]) -> dict[str, Any]:
    image = container.get("image", "")
    latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
    pull = {"imagePullPolicy": "Always" if latest else "IfNotPresent"}
    return {**CONTAINER_DEFAULTS, **pull, **container}


def _tolerates(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key", "") in {key, ""} and toleration.get("effect", "") in {"NoExecute", ""}


def quality_of_service(spec: dict[str, Any]) -> str:
    """Return the QoS class.

    BestEffort without any request or limit, Guaranteed if every container has limits for CPU and memory that
    equal its requests, otherwise Burstable.
    """
    resources = [container.get("resources", {}) for container in spec.get("containers") or ()]
    if not any(one.get("requests") or one.get("limits") for one in resources):
        return "BestEffort"
    exact = all(
        one.get("limits")
        and one.get("limits") == one.get("requests")
        and {"cpu", "memory"} <= one["limits"].keys()
        for one in resources
    )
    return "Guaranteed" if exact else "Burstable"


def _check_containers(containers: Sequence[dict[str, Any]]) -> Iterator[Cause]:
    if not containers:
        yield required("spec.containers")
    for index, container in enumerate(containers):
        for field in ("name", "image"):
            if not container.get(field):
                yield required(f"spec.containers[{index}].{field}")


def _check_spec_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    changed = {name for name in new.keys() | old.keys() if new.get(name) != old.get(name)}
    if len(new.get("containers") or ()) != len(old.get("containers") or ()):
        yield forbidden_value("spec.containers", "pod updates may not add or remove containers")
        return
    deadline, old_deadline = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if old_deadline is not None and (deadline is None or deadline > old_deadline):
        why = "must not be taken away" if deadline is None else "must be less than or equal to previous value"
        yield wrong("spec.activeDeadlineSeconds", deadline, why)
        if deadline is not None:
            return
    if any(one not in (new.get("tolerations") or ()) for one in old.get("tolerations") or ()):
        yield forbidden_value(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
    images = [{**one, "image": ""} for one in new.get("containers") or ()]
    if changed - MAY_CHANGE or images != [{**one, "image": ""} for one in old.get("containers") or ()]:
        yield forbidden_value("spec", "pod updates may change only images, deadlines and added tolerations")
