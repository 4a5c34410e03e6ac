"""The objects of a fake node: its Node and CSINode, and the status of containers on it."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import IPv4Address
from typing import Any

from controlplane.api import Object

DRIVER = "csi.test.nodemend.io"
GROUP = "kwok.x-k8s.io/node"
BOOT_ID = "controlplane.nodemend.io/boot-id"
CAPACITY = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "200Gi", "pods": "110"}
# 198.18.0.0/15 is reserved for benchmarks: no real host has such an address.
FIRST_ADDRESS = IPv4Address("198.18.0.1")
ADDRESSES = 2**17 - 2


def node_manifest(name: str, group: str, *, labels: Mapping[str, str], spec: Mapping[str, Any]) -> Object:
    """A Node as its kubelet registers it, in its first boot; not Ready before it reports."""
    boot = str(uuid.uuid4())
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                **labels,
            },
            "annotations": {
                GROUP: group,
                BOOT_ID: boot,
                # Without this the attach-detach controller leaves the node alone.
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {"providerID": f"test://{name}", **spec},
        "status": node_status(name, boot),
    }


def in_boot(node: Object, boot: str) -> Object:
    """The same node, registering in another boot."""
    known = node["metadata"]["annotations"]
    return {
        **node,
        "metadata": {**node["metadata"], "annotations": {**known, BOOT_ID: boot}},
        "status": node_status(node["metadata"]["name"], boot),
    }


def node_status(name: str, boot: str) -> Object:
    """Machine and system IDs follow from the name: they outlive the Node object, as hardware does."""
    hardware = sha256(name.encode()).digest()
    address = FIRST_ADDRESS + int.from_bytes(hardware[:4], "big") % ADDRESSES
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "addresses": [
            {"type": "InternalIP", "address": str(address)},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "bootID": boot,
            "machineID": hardware[:16].hex(),
            "systemUUID": str(uuid.UUID(bytes=hardware[16:])),
            "architecture": "amd64",
            "operatingSystem": "linux",
            "osImage": "Debian GNU/Linux 13 (trixie)",
            "kernelVersion": "6.12.0",
            "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": "v1.36.0",
            "kubeProxyVersion": "",
        },
    }


def csi_node(node: Object) -> Object:
    """The storage plugin's object for a registered Node; deleted with the Node."""
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": 100}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"drivers": [driver]},
    }


def is_ready(node: Object) -> bool:
    """Ready, and reported so in the boot that its machine is in."""
    status, annotations = node["status"], node["metadata"].get("annotations", {})
    booted = annotations.get(BOOT_ID, status["nodeInfo"]["bootID"]) == status["nodeInfo"]["bootID"]
    return booted and condition(node, "Ready") == "True"


def condition(thing: Object, kind: str) -> str:
    """The status of a condition; Unknown if it is not reported."""
    conditions = thing.get("status", {}).get("conditions", ())
    return next((seen["status"] for seen in conditions if seen["type"] == kind), "Unknown")


def restarted(container: Object) -> Object:
    """The status of a running container after its node rebooted."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    began = container.get("state", {}).get("running", {}).get("startedAt", now)
    ended = {"exitCode": 255, "reason": "Unknown", "startedAt": began, "finishedAt": now}
    return {
        **container,
        "restartCount": container["restartCount"] + 1,
        "lastState": {"terminated": ended},
        "state": {"running": {"startedAt": now}},
    }
