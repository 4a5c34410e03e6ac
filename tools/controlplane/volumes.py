"""A StatefulSet with a disk a replica: what the real attach-detach controller needs to work for it."""

import secrets

from controlplane.api import Object
from controlplane.node_objects import DRIVER

CLASS = "test-disk"
CLAIM = "data"


def storage() -> list[Object]:
    """Once a cluster: the driver, which wants attachments, and its class."""
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"attachRequired": True, "podInfoOnMount": False, "volumeLifecycleModes": ["Persistent"]},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": CLASS},
            "provisioner": DRIVER,
            "volumeBindingMode": "Immediate",
        },
    ]


def stateful_set(
    name: str, replicas: int = 1, *, namespace: str = "default", tolerate_unreachable: int = 0
) -> list[Object]:
    """A StatefulSet, its headless Service, and one disk a replica, made beforehand.

    Pods are evicted `tolerate_unreachable` seconds after their node was found unreachable; Kubernetes' own
    default is 300.
    """
    return [
        *(disk(f"{namespace}-{name}-{i}", namespace, f"{CLAIM}-{name}-{i}") for i in range(replicas)),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterIP": "None", "selector": {"app": name}},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "serviceName": name,
                "replicas": replicas,
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": _pod(tolerate_unreachable)},
                "volumeClaimTemplates": [_claim()],
            },
        },
    ]


def disk(name: str, namespace: str, claim: str) -> Object:
    """A volume of this driver that can be on one node at a time, reserved for one claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": CLASS,
            # Never the same twice: the attach-detach controller remembers the disks of earlier tests.
            "csi": {"driver": DRIVER, "volumeHandle": f"{name}-{secrets.token_hex(4)}"},
            "claimRef": {"namespace": namespace, "name": claim},
        },
    }


def _pod(tolerate_unreachable: int) -> Object:
    unreachable = {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": tolerate_unreachable,
    }
    container = {
        "name": "db",
        "image": "db.test.nodemend.io/db:1",
        "volumeMounts": [{"name": CLAIM, "mountPath": "/data"}],
    }
    return {"terminationGracePeriodSeconds": 1, "tolerations": [unreachable], "containers": [container]}


def _claim() -> Object:
    return {
        "metadata": {"name": CLAIM},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": CLASS,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
