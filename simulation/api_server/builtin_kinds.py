"""Built-in kinds, as far as this project uses them. The package docstring lists their limits."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from nodemend.api.resources import LEASE, NAMESPACE, NODE, VOLUME_ATTACHMENT, Resource
from simulation.api_server.certificate_requests import CertificateRequestKind
from simulation.api_server.events import EventKind
from simulation.api_server.fields import FieldSet
from simulation.api_server.kinds import STATUS, Kind, TypedKind, with_metadata
from simulation.api_server.object_meta import is_label, is_label_value, is_qualified_name, is_subdomain
from simulation.api_server.pods import PodKind
from simulation.api_server.statuses import (
    Cause,
    duplicate,
    forbidden_value,
    immutable,
    not_supported,
    required,
    wrong,
)
from simulation.api_server.storage import Object

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class NodeKind(TypedKind):
    subresources = (STATUS,)

    def __init__(self) -> None:
        super().__init__(NODE, "core.v1.Node")
        self.selectable = {
            **self.selectable,
            "spec.unschedulable": lambda node: str(node["spec"].get("unschedulable", False)).lower(),
        }

    def default(self, object_: Object, old: Object | None) -> Object:
        status = object_["status"]
        if "capacity" not in status or "allocatable" in status:
            return object_
        return {**object_, "status": {**status, "allocatable": status["capacity"]}}

    def admit(self, new: Object, old: Object | None, subresource: str) -> Object:
        """Taint a new node not-ready, so that no pod is scheduled before the node is Ready."""
        if old is not None:
            return new
        taints = new["spec"].get("taints", [])
        same = ((taint["key"], taint["effect"]) for taint in taints)
        if (NOT_READY["key"], NOT_READY["effect"]) in same:
            return new
        return {**new, "spec": {**new["spec"], "taints": [*taints, NOT_READY]}}

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
        spec = new["spec"]
        before: Mapping[str, Any] = old["spec"] if old else {}
        if spec is before:
            return
        if spec.get("taints") is not before.get("taints"):
            yield from _check_taints(spec.get("taints", ()))
        for field in ("providerID", "podCIDRs"):
            if before.get(field) and spec.get(field) != before[field]:
                yield forbidden_value(
                    f"spec.{field}", f"node updates may not change {field} except from empty"
                )


def _check_taints(taints: Any) -> Iterator[Cause]:
    seen = set()
    for index, taint in enumerate(taints):
        # The real server also reports this path, which does not exist in a Node.
        path = f"metadata.taints[{index}]"
        if not is_qualified_name(taint["key"]):
            yield wrong(f"{path}.key", taint["key"], "a qualified name is wanted")
        if not is_label_value(taint.get("value", "")):
            yield wrong(f"{path}.value", taint.get("value"), "a valid label value is wanted")
        if taint["effect"] == "":
            yield required(f"{path}.effect")
        elif taint["effect"] not in EFFECTS:
            yield not_supported(f"{path}.effect", taint["effect"], EFFECTS)
        if (taint["key"], taint["effect"]) in seen:
            yield duplicate(path, taint, "taints must be unique by key and effect pair")
        seen.add((taint["key"], taint["effect"]))


class LeaseKind(TypedKind):
    creates_on_put = True
    updates_without_version = False

    def __init__(self) -> None:
        super().__init__(LEASE, "coordination.v1.Lease")

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
        spec = new["spec"]
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            yield wrong("spec.leaseDurationSeconds", duration, "must be greater than 0")
        if transitions is not None and transitions < 0:
            yield wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0")

    def prepare_create(self, new: Object) -> Object:
        return _without_coordination(new)

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        return _without_coordination(new)


def _without_coordination(lease: Object) -> Object:
    """Drop the fields of coordinated leader election, which is off by default."""
    spec = lease["spec"]
    if "strategy" not in spec and "preferredHolder" not in spec:
        return lease
    kept = {name: part for name, part in spec.items() if name not in {"strategy", "preferredHolder"}}
    return {**lease, "spec": kept}


class NamespaceKind(TypedKind):
    subresources = (STATUS,)
    returns_deleted = True

    def __init__(self) -> None:
        super().__init__(NAMESPACE, "core.v1.Namespace")
        self.selectable = {
            **self.selectable,
            "status.phase": lambda namespace: namespace["status"].get("phase", ""),
        }

    def default(self, object_: Object, old: Object | None) -> Object:
        name = object_["metadata"].get("name")
        labels = object_["metadata"].get("labels", {})
        if not name or labels.get("kubernetes.io/metadata.name") == name:
            return object_
        return with_metadata(object_, labels={**labels, "kubernetes.io/metadata.name": name})

    def prepare_create(self, new: Object) -> Object:
        spec = {**new["spec"], "finalizers": ["kubernetes"]}
        return {**new, "spec": spec, "status": {"phase": "Active"}}

    def names_fit(self, name: str) -> bool:
        return is_label(name)


class VolumeAttachmentKind(TypedKind):
    subresources = (STATUS,)
    updates_without_version = False
    returns_deleted = True

    def __init__(self) -> None:
        super().__init__(VOLUME_ATTACHMENT, "storage.v1.VolumeAttachment")

    def resets(self, subresource: str) -> FieldSet:
        return {"f:metadata": {}, "f:spec": {}} if subresource == STATUS else {"f:status": {}}

    def prepare_create(self, new: Object) -> Object:
        return {**new, "status": self.empty["status"]}

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        new = super().prepare_update(new, old, subresource)
        if subresource != STATUS:
            return new
        kept = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
        return with_metadata(new, **{name: old["metadata"].get(name) for name in kept})

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
        spec = new["spec"]
        if old is not None:
            if spec == old["spec"]:
                return
            yield immutable("spec", spec)
        if not spec["attacher"]:
            yield required("spec.attacher")
        elif not is_subdomain(spec["attacher"]):
            yield wrong("spec.attacher", spec["attacher"], "a lowercase RFC 1123 subdomain is wanted")
        if not is_subdomain(spec["nodeName"]):
            yield wrong("spec.nodeName", spec["nodeName"], "a lowercase RFC 1123 subdomain is wanted")
        if not spec["source"]:
            yield required(
                "spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
            )


def builtin_kinds() -> list[Kind]:
    """Return the built-in kinds that every simulated server serves."""
    core = ("ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim")
    return [
        NodeKind(),
        PodKind(),
        LeaseKind(),
        NamespaceKind(),
        VolumeAttachmentKind(),
        EventKind(),
        CertificateRequestKind(),
        *(TypedKind(Resource("", "v1", kind, f"{kind.lower()}s"), f"core.v1.{kind}") for kind in core),
        _WithStatus(Resource("apps", "v1", "StatefulSet", "statefulsets"), "apps.v1.StatefulSet"),
        _WithStatus(Resource("batch", "v1", "Job", "jobs"), "batch.v1.Job"),
    ]


class _WithStatus(TypedKind):
    subresources = (STATUS,)
