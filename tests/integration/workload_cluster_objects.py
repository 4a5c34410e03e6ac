"""Workload clusters behind Cluster API's Secrets: each has its own Nodes, whose status the test writes."""

import base64
from typing import Any, Final

from controlplane.api import Api
from controlplane.run import ControlPlane
from tests.integration.checker_setup import CLAIM, SPACE, TEMPLATE
from tests.integration.machine_objects import CLUSTER_API, a_thing

AT: Final = f"/apis/{CLUSTER_API}/namespaces/{SPACE}"


def add_cluster(management: Api, name: str, plane: ControlPlane) -> None:
    """A ready Cluster, and the Secret with its kubeconfig."""
    endpoint = {"host": "127.0.0.1", "port": plane.port}
    management.create(a_thing(CLUSTER_API, "Cluster", name, {"controlPlaneEndpoint": endpoint}, SPACE))
    up = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
    management.patch(f"{AT}/clusters/{name}/status", {"status": up})
    kubeconfig = base64.b64encode(plane.kubeconfig.read_bytes()).decode()
    secret = {"name": f"{name}-kubeconfig", "namespace": SPACE, "labels": _labels(name)}
    management.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": secret, "data": {"value": kubeconfig}}
    )


def machine_of(cluster: str, node: str) -> str:
    """The Machine's name: nodes of several clusters may have the same one."""
    return f"{cluster}-{node}"


def add_machine(management: Api, cluster: str, node: str, provider_id: str) -> None:
    name = machine_of(cluster, node)
    kind = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": name}
    spec = {
        "clusterName": cluster,
        "providerID": provider_id,
        "bootstrap": {"dataSecretName": "none"},
        "infrastructureRef": kind,
    }
    management.create(a_thing(CLUSTER_API, "Machine", name, spec, SPACE, _labels(cluster)))
    status = {"nodeRef": {"name": node}, "initialization": {"infrastructureProvisioned": True}}
    management.patch(f"{AT}/machines/{name}/status", {"status": status})


def check_of(cluster: str) -> str:
    return f"{AT}/machinehealthchecks/{cluster}"


def add_check(management: Api, cluster: str, seconds: int, most: str | None = None) -> None:
    """A check for nodes Unknown for this many seconds; nothing starts above `most` unhealthy ones."""
    condition = {"type": "Ready", "status": "Unknown", "timeoutSeconds": seconds}
    remediation: dict[str, Any] = {"templateRef": TEMPLATE}
    if most is not None:
        remediation["triggerIf"] = {"unhealthyLessThanOrEqualTo": most}
    spec = {
        "clusterName": cluster,
        "selector": {"matchLabels": _labels(cluster)},
        "checks": {"unhealthyNodeConditions": [condition]},
        "remediation": remediation,
    }
    management.create(a_thing(CLUSTER_API, "MachineHealthCheck", cluster, spec, SPACE, CLAIM))


def _labels(cluster: str) -> dict[str, str]:
    return {"cluster.x-k8s.io/cluster-name": cluster}
