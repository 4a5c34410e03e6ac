"""The management cluster: its Clusters, Machines, checks and Secrets, as the API server would list them."""

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from bench.clients.node_generator import make_node

NAMESPACE: Final = "fleet"
CLUSTER_API: Final = "cluster.x-k8s.io/v1beta2"
_CONDITIONS: Final = (
    "Available",
    "Ready",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "NodeHealthy",
    "NodeReady",
    "Deleting",
    "UpToDate",
    "HealthCheckSucceeded",
)

Object = dict[str, Any]


def cluster_name(cluster: int) -> str:
    return f"edge-{cluster:04d}"


def a_cluster(cluster: int) -> Object:
    ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
    return {"metadata": _metadata(cluster_name(cluster), "cluster"), "status": {"initialization": ready}}


def a_check(cluster: int) -> Object:
    name = cluster_name(cluster)
    labels = {"cluster.x-k8s.io/watch-filter": "nodemend"}
    return {
        "metadata": {**_metadata(name, "check"), "generation": 1, "labels": labels},
        "spec": {
            "clusterName": name,
            "selector": {"matchLabels": {"cluster.x-k8s.io/deployment-name": f"{name}-workers"}},
            "checks": {
                "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]
            },
        },
    }


def a_machine(number: int, nodes: int) -> Object:
    """Of the cluster that has the `number`th of all Nodes."""
    cluster, node = cluster_name(number // nodes), make_node(number)
    name = f"{cluster}-workers-{number:06d}"
    owner = {
        "apiVersion": CLUSTER_API,
        "kind": "MachineSet",
        "name": f"{cluster}-workers",
        "uid": f"set-{cluster}",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {
        "cluster.x-k8s.io/cluster-name": cluster,
        "cluster.x-k8s.io/deployment-name": f"{cluster}-workers",
        "cluster.x-k8s.io/set-name": f"{cluster}-workers-x7k2p",
        "machine-template-hash": f"{cluster}-x7k2p",
    }
    return {
        "metadata": {**_metadata(name, "machine"), "labels": labels, "ownerReferences": [owner]},
        "spec": {"clusterName": cluster, "providerID": node["spec"]["providerID"]},
        "status": {
            "nodeRef": {"name": node["metadata"]["name"]},
            "phase": "Running",
            "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
            "conditions": [
                {
                    "type": type_,
                    "status": "False" if type_ == "Deleting" else "True",
                    "reason": type_,
                    "message": "",
                    "lastTransitionTime": node["status"]["conditions"][place % 8]["lastTransitionTime"],
                }
                for place, type_ in enumerate(_CONDITIONS)
            ],
        },
    }


def a_secret(cluster: str, server: str, authority: bytes, client: tuple[bytes, bytes]) -> Object:
    certificate, key = (base64.b64encode(pem).decode() for pem in client)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, **_authority(authority)}}],
        "users": [
            {"name": "admin", "user": {"client-certificate-data": certificate, "client-key-data": key}}
        ],
        "contexts": [{"name": "admin", "context": {"cluster": cluster, "user": "admin"}}],
        "current-context": "admin",
    }
    labels = {"cluster.x-k8s.io/cluster-name": cluster}
    return {
        "metadata": {**_metadata(f"{cluster}-kubeconfig", "secret"), "labels": labels},
        "data": {"value": base64.b64encode(json.dumps(config).encode()).decode()},
    }


def our_kubeconfig(server: str, authority: bytes) -> str:
    config = {
        "clusters": [{"name": "management", "cluster": {"server": server, **_authority(authority)}}],
        "users": [{"name": "us", "user": {"token": "bench"}}],
        "contexts": [{"name": "us", "context": {"cluster": "management", "user": "us"}}],
        "current-context": "us",
    }
    return json.dumps(config)


def a_policy() -> Object:
    return {"metadata": {"name": "cluster", "uid": "policy", "resourceVersion": "1"}, "spec": {"mode": "Act"}}


def nodes_of(cluster: int, nodes: int) -> Iterator[Object]:
    return (make_node(cluster * nodes + number) for number in range(nodes))


def _authority(pem: bytes) -> Object:
    return {"certificate-authority-data": base64.b64encode(pem).decode()}


def _metadata(name: str, kind: str) -> Object:
    return {"name": name, "namespace": NAMESPACE, "uid": f"{kind}-{name}", "resourceVersion": "1"}
