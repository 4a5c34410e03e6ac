"""Documents of each kind in the sequences: valid ones, changes to them, and invalid ones."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Document = dict[str, Any]
Maker = Callable[[Random], Document]

LABELS: tuple[Document, ...] = (
    {"app": "a"},
    {"app": "b", "tier": "x"},
    {"app": "a", "tier": "y"},
    {},
    {"tier": None},
)
BAD_METADATA: tuple[Document, ...] = (
    {"labels": {"bad key!": "x"}},
    {"labels": {"app": "bad value!"}},
    {"labels": {"app": 7}},
    {"annotations": {"bad key!": "x"}},
    {"finalizers": ["no/such/thing"]},
    {"finalizers": "none"},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "", "uid": "u"}]},
    {"name": "elsewhere"},
    {"namespace": "elsewhere"},
)


OURS: Document = {"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One kind: its path and its documents."""

    path: str  # contains {} for the namespace of a namespaced kind
    api_version: str
    kind: str
    names: tuple[str, ...]
    create: Maker
    change: Maker
    status: Maker | None
    bad: Maker
    bad_status: Maker | None = None
    # Users that usually write such objects, and their status.
    users: tuple[str, ...] = ("admin", "writer")
    status_users: tuple[str, ...] = ()

    @property
    def namespaced(self) -> bool:
        return "{}" in self.path

    def collection(self, namespace: str) -> str:
        return self.path.format(namespace) if self.namespaced else self.path

    def document(self, name: str, rest: Document) -> Document:
        metadata = {"name": name, **rest.get("metadata", {})}
        return {"apiVersion": self.api_version, "kind": self.kind, **rest, "metadata": metadata}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return value


OWNER: Document = {
    "apiVersion": "v1",
    "kind": "Node",
    "name": "n1",
    "uid": "11111111-2222-4333-8444-555555555555",
}
SYSTEM_METADATA: tuple[Document, ...] = (
    {"generation": 7},
    {"creationTimestamp": "2020-01-01T00:00:00Z"},
    {"deletionTimestamp": "2020-01-01T00:00:00Z"},
    {"deletionGracePeriodSeconds": 5},
    {"selfLink": "/x"},
    {"managedFields": []},
    {"managedFields": [{}]},
    {"managedFields": None},
    {"ownerReferences": [OWNER]},
    {"ownerReferences": [{**OWNER, "controller": True, "blockOwnerDeletion": True}]},
    {"ownerReferences": [OWNER, OWNER]},
    {"ownerReferences": None},
)
"""Metadata that mostly belongs to the server."""


def metadata_change(random: Random) -> Document:
    if random.random() < 0.12:
        return random.choice(SYSTEM_METADATA)
    kind = random.randrange(6)
    if kind <= 2:
        return {"labels": random.choice(LABELS)}
    if kind == 3:
        return {"annotations": {random.choice(("note", "nodemend.io/x")): random.choice(("1", "2", None))}}
    if kind == 4:
        return {
            "finalizers": random.choice(
                (["nodemend.io/safe-end"], ["a.io/b", "nodemend.io/safe-end"], None, [])
            )
        }
    return {"labels": {"app": "a"}, "annotations": {"note": "both"}}


def _node_spec(random: Random) -> Document:
    taints: tuple[list[Document] | None, ...] = (
        [{"key": "k", "value": "v", "effect": "NoExecute"}],
        [{"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoExecute"}],
        [OURS],
        [OURS, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
        [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
        [],
        None,
    )
    return random.choice(
        (
            {"taints": random.choice(taints)},
            {"unschedulable": random.choice((True, False, None))},
            {"providerID": random.choice(("p://1", "p://2"))},
        )
    )


def _node(random: Random) -> Document:
    spec = _node_spec(random) if random.random() < 0.5 else {}
    made: Document = {"spec": {key: value for key, value in spec.items() if value is not None}}
    if random.random() < 0.3:
        made["status"] = _node_status(random)["status"]
    return made


def _node_status(random: Random) -> Document:
    beat = f"2024-01-01T00:00:0{random.randrange(10)}Z"
    condition = {
        "type": random.choice(("Ready", "MemoryPressure")),
        "status": random.choice(("True", "False", "Unknown")),
        "reason": "Said",
        "message": "so",
        "lastHeartbeatTime": beat,
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    return {
        "status": random.choice(
            (
                {"conditions": [condition]},
                {"conditions": [condition, {"type": "Other", "status": "True"}]},
                {"nodeInfo": {"bootID": random.choice(("b1", "b2", ""))}},
                {
                    "capacity": {
                        "cpu": random.choice(("4", "4000m", "0.5")),
                        "memory": random.choice(("1Gi", "1024Mi", "1000")),
                    }
                },
                {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
                {"phase": random.choice(("Running", ""))},
                {"daemonEndpoints": {"kubeletEndpoint": {"Port": random.choice((0, 10250))}}},
            )
        )
    }


def _bad_node(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"taints": [{"key": "k", "effect": "Sometimes"}]}},
            {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}, {"key": "k", "effect": "NoExecute"}]}},
            {"spec": {"taints": [{"key": "bad key!", "effect": "NoExecute"}]}},
            {"spec": {"taints": "none"}},
            {"spec": {"unschedulable": "yes"}},
            {"spec": []},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _lease_spec(random: Random) -> Document:
    second = random.randrange(10)
    return random.choice(
        (
            {"holderIdentity": random.choice(("a", "b", "", None))},
            {"renewTime": f"2024-01-01T00:00:0{second}.000000Z", "holderIdentity": "a"},
            {"renewTime": f"2024-01-01T02:00:0{second}.120000+02:00"},
            {"acquireTime": f"2024-01-01T00:00:0{second}.500000Z", "leaseTransitions": second},
            {"leaseDurationSeconds": 1 + second},
        )
    )


def _bad_lease(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"leaseDurationSeconds": 0}},
            {"spec": {"leaseTransitions": -1}},
            {"spec": {"renewTime": "2024-01-01T00:00:00Z"}},
            {"spec": {"renewTime": "soon"}},
            {"spec": {"leaseDurationSeconds": "15"}},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


# Set explicitly, so that an admission plugin that would fill it in makes no difference.
POD_ACCOUNT: Document = {"automountServiceAccountToken": False, "serviceAccountName": "default"}


def _pod(random: Random) -> Document:
    spec: Document = {
        **POD_ACCOUNT,
        "containers": [{"name": "c", "image": random.choice(("x", "x:1", "r/x:latest"))}],
    }
    if random.random() < 0.6:
        spec["nodeName"] = random.choice(("n1", "n2"))
    if random.random() < 0.2:
        spec["terminationGracePeriodSeconds"] = random.choice((0, 5))
    if random.random() < 0.2:
        spec["containers"].append({"name": "d", "image": "y", "resources": {"requests": {"cpu": "100m"}}})
    if random.random() < 0.2:
        spec["tolerations"] = [{"operator": "Exists"}]
    return {"spec": spec}


def _pod_change(random: Random) -> Document:
    more = [{"key": "more", "operator": "Exists", "effect": "NoSchedule"}]
    return random.choice(
        (
            {"spec": {"activeDeadlineSeconds": random.choice((10, 20))}},
            {"spec": {"nodeName": "n3"}},
            {"spec": {"tolerations": more}},
            {"spec": {"restartPolicy": "Never"}},
            {"metadata": metadata_change(random)},
        )
    )


def _pod_status(random: Random) -> Document:
    return {
        "status": random.choice(
            (
                {"phase": random.choice(("Running", "Succeeded", "Failed", "Pending"))},
                {"conditions": [{"type": "Ready", "status": random.choice(("True", "False"))}]},
                {"podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]},
                {"qosClass": None, "message": "x"},
            )
        )
    }


def _bad_pod(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"containers": []}},
            {"spec": {"containers": [{"name": "", "image": "x"}]}},
            {"spec": {"containers": "none"}},
            {
                "spec": {
                    "nodeName": 7,
                    **POD_ACCOUNT,
                    "containers": [{"name": "c", "image": "x"}],
                }
            },
            {
                "metadata": random.choice(BAD_METADATA),
                "spec": {**POD_ACCOUNT, "containers": [{"name": "c", "image": "x"}]},
            },
        )
    )


def _attachment(random: Random) -> Document:
    return {
        "spec": {
            "attacher": "a.io",
            "nodeName": random.choice(("n1", "n2")),
            "source": {"persistentVolumeName": random.choice(("pv1", "pv2"))},
        }
    }


def _attachment_status(random: Random) -> Document:
    return {
        "status": random.choice(
            (
                {"attached": random.choice((True, False))},
                {"attached": True, "attachmentMetadata": {"a": random.choice(("b", "c"))}},
                {"attached": False, "attachError": {"message": "no", "time": "2024-01-01T00:00:00Z"}},
            )
        )
    }


def _bad_attachment(random: Random) -> Document:
    return random.choice(
        (
            {"spec": {"nodeName": "n9"}},
            {"spec": {"attacher": ""}},
            {"spec": {"source": {}}},
            {"spec": "none"},
            {"metadata": random.choice(BAD_METADATA)},
        )
    )


def _event(random: Random) -> Document:
    regarding = {"kind": "Pod", "name": "p1", "namespace": random.choice(("diff-a", "diff-b"))}
    return {
        "eventTime": "2024-01-01T00:00:00.000000Z",
        "type": random.choice(("Normal", "Warning")),
        "reason": "Held",
        "action": "Hold",
        "note": "because",
        "reportingController": "nodemend.io/checker",
        "reportingInstance": "checker-1",
        "regarding": regarding,
    }


def _event_change(random: Random) -> Document:
    count = random.choice((1, 2, 3))
    return random.choice(
        (
            {"series": {"count": count, "lastObservedTime": "2024-01-01T00:00:01.000000Z"}},
            {"note": "something else"},
            {"metadata": metadata_change(random)},
        )
    )


def _bad_event(random: Random) -> Document:
    good = _event(random)
    wrong: tuple[Document, ...] = (
        {"eventTime": None},
        {"type": "Odd"},
        {"reason": ""},
        {"action": "x" * 129},
        {"note": "x" * 1025},
        {"reportingController": "not a name"},
        {"reportingInstance": ""},
        {"regarding": {"kind": "Node", "name": "n1"}},
        {"eventTime": "2024-01-01T00:00:00Z"},
        {"deprecatedCount": 3},
        {"series": {"count": 1}},
    )
    return {**good, **random.choice(wrong)}


NODES = Sample(
    "/api/v1/nodes",
    "v1",
    "Node",
    ("n1", "n2", "n3"),
    _node,
    lambda r: {"spec": _node_spec(r)},
    _node_status,
    _bad_node,
    users=("admin", "admin", "writer", "writer", "remediator", "checker"),
    status_users=("admin", "writer"),
)
LEASES = Sample(
    "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
    "coordination.k8s.io/v1",
    "Lease",
    ("l1", "l2"),
    lambda r: {"spec": {key: value for key, value in _lease_spec(r).items() if value is not None}},
    lambda r: {"spec": _lease_spec(r)},
    None,
    _bad_lease,
)
PODS = Sample(
    "/api/v1/namespaces/{}/pods", "v1", "Pod", ("p1", "p2", "p3"), _pod, _pod_change, _pod_status, _bad_pod
)
ATTACHMENTS = Sample(
    "/apis/storage.k8s.io/v1/volumeattachments",
    "storage.k8s.io/v1",
    "VolumeAttachment",
    ("v1", "v2"),
    _attachment,
    lambda r: {"metadata": metadata_change(r)},
    _attachment_status,
    _bad_attachment,
)

EVENTS = Sample(
    "/apis/events.k8s.io/v1/namespaces/{}/events",
    "events.k8s.io/v1",
    "Event",
    ("e1", "e2"),
    _event,
    _event_change,
    None,
    _bad_event,
)
