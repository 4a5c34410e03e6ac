"""Synthetic Nodes, about 9.5 KB of JSON each, shaped like those of a bare-metal cluster in use.

Two thirds of a real Node are lists that no health check reads: images, managed fields, capacities. A client's
speed depends on its handling of those, so they are here in full.
"""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

HEARTBEATS = 3
"""The number of reports of each Node in a watch."""

LAST = "zz-last"
"""The name of the Node with which a watch ends."""

_EPOCH = datetime(2026, 5, 1, tzinfo=UTC)
_IMAGES_PER_NODE = 21
_CONDITIONS = (
    ("NetworkUnavailable", "False", "RouteCreated", "the network plugin has made a route"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("KernelDeadlock", "False", "KernelHasNoDeadlock", "kernel has no deadlock"),
    ("ReadonlyFilesystem", "False", "FilesystemIsNotReadOnly", "filesystem is not read-only"),
    ("FrequentContainerdRestart", "False", "NoFrequentContainerdRestart", "containerd is steady"),
)


def make_node(number: int, version: int = 1, beat: int = 0, *, one_time: bool = False) -> dict[str, Any]:
    """The `number`th Node after `beat` heartbeats.

    Every condition has a different time of change, unless `one_time`.
    """
    name = node_name(number)
    heartbeat = _stamp(86400 * 150 + number % 300 + beat * 300)
    capacity = {
        "cpu": "96",
        "ephemeral-storage": "1843269236Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "527987420Ki",
        "pods": "110",
    }
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": _metadata(number, name, version, heartbeat),
        "spec": {
            "podCIDR": f"10.{number >> 8 & 255}.{number & 255}.0/24",
            "podCIDRs": [f"10.{number >> 8 & 255}.{number & 255}.0/24"],
            "providerID": f"metal://rack-{number // 32}/{_digest('provider', number)[:32]}",
        },
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [
                {
                    "type": type_,
                    "status": status,
                    "lastHeartbeatTime": heartbeat,
                    "lastTransitionTime": _stamp(0 if one_time else number * 8 + place),
                    "reason": reason,
                    "message": message,
                }
                for place, (type_, status, reason, message) in enumerate(_CONDITIONS)
            ],
            "addresses": [
                {
                    "type": "InternalIP",
                    "address": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number % 256}",
                },
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": _digest("machine", number)[:32],
                "systemUUID": _uuid("system", number),
                "bootID": _uuid("boot", number),
                "kernelVersion": "6.12.41-amd64",
                "osImage": "Debian GNU/Linux 13 (trixie)",
                "containerRuntimeVersion": "containerd://2.1.4",
                "kubeletVersion": "v1.36.3",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": [_image(number, place) for place in range(_IMAGES_PER_NODE)],
        },
    }


def node_name(number: int) -> str:
    return f"metal-{number:06d}.row-{number % 8}.cluster.example.org"


def watch_line(kind: str, node: dict[str, Any]) -> bytes:
    """One line of a watch, as the API server writes it."""
    return json.dumps({"type": kind, "object": node}, separators=(",", ":")).encode() + b"\n"


def _metadata(number: int, name: str, version: int, heartbeat: str) -> dict[str, Any]:
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node-role.kubernetes.io/worker": "",
        "node.kubernetes.io/instance-type": "metal-96",
        "topology.kubernetes.io/region": "north",
        "topology.kubernetes.io/zone": f"hall-{number % 4}",
        "topology.example.org/rack": f"rack-{number // 32}",
        "storage.example.org/nvme": "true",
    }
    annotations = {
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        "csi.volume.kubernetes.io/nodeid": json.dumps({"block.csi.example.org": name}),
        "cluster.x-k8s.io/machine": f"workers-{number:06d}",
        "cluster.x-k8s.io/cluster-name": "production",
    }
    written: dict[str, Any] = {
        "f:metadata": {
            "f:annotations": {".": {}} | {f"f:{key}": {} for key in annotations},
            "f:labels": {".": {}} | {f"f:{key}": {} for key in labels},
        }
    }
    reported: dict[str, Any] = {
        "f:status": {
            "f:conditions": {
                f'k:{{"type":"{type_}"}}': {"f:lastHeartbeatTime": {}, "f:status": {}, "f:message": {}}
                for type_, _, _, _ in _CONDITIONS
            },
            "f:images": {},
        }
    }
    return {
        "name": name,
        "uid": _uuid("node", number),
        "resourceVersion": str(version),
        "creationTimestamp": _stamp(0),
        "labels": labels,
        "annotations": annotations,
        "managedFields": [
            _managed("kubelet", "", _stamp(0), written),
            _managed("kubelet", "status", heartbeat, reported),
        ],
    }


def _managed(manager: str, subresource: str, time: str, fields: dict[str, Any]) -> dict[str, Any]:
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return entry | ({"subresource": subresource} if subresource else {})


def _image(number: int, place: int) -> dict[str, Any]:
    which = (number * 7 + place) % 60
    digest = _digest("image", which)
    repository = f"registry.example.org/platform/component-{which:02d}"
    return {
        "names": [f"{repository}@sha256:{digest}", f"{repository}:v1.{which}.{place}"],
        "sizeBytes": 20_000_000 + which * 1_234_567,
    }


def _stamp(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _digest(what: str, number: int) -> str:
    return hashlib.sha256(f"{what} {number}".encode()).hexdigest()


def _uuid(what: str, number: int) -> str:
    text = _digest(what, number)
    return f"{text[:8]}-{text[8:12]}-4{text[12:15]}-a{text[15:18]}-{text[18:30]}"
