"""Machines on a real API server without their controllers: the tests write what those would."""

from collections.abc import Mapping
from typing import Any, Final

from controlplane.api import Api, Object
from foreign_kinds.definitions import crds

CLUSTER: Final = "main"
CLUSTER_API: Final = "cluster.x-k8s.io/v1beta2"
OPENSHIFT: Final = "machine.openshift.io/v1beta1"
_INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"


def a_thing(
    version: str,
    kind: str,
    name: str,
    spec: Mapping[str, Any],
    namespace: str,
    labels: Mapping[str, str] | None = None,
    **metadata: Any,
) -> Object:
    named = {"name": name, "namespace": namespace, "labels": dict(labels or {}), **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": named, "spec": dict(spec)}


def machine_definitions(project: str) -> list[Object]:
    """Machines and related objects, without the project's own checks."""
    return [one for one in crds(project) if one["spec"]["names"]["kind"] != "MachineHealthCheck"]


def provider_id(node: str) -> str:
    """The provider ID of a fake node."""
    return f"test://{node}"


def add_cluster(api: Api, namespace: str) -> Mapping[str, Any]:
    """A ready Cluster of Cluster API's, and a MachineSet; returns how its Machines refer to it."""
    api.create(
        a_thing(CLUSTER_API, "Cluster", CLUSTER, {"infrastructureRef": _made_of("Cluster", "c")}, namespace)
    )
    up = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
    api.patch(f"/apis/{CLUSTER_API}/namespaces/{namespace}/clusters/{CLUSTER}/status", {"status": up})
    selector = {"matchLabels": {"set": "workers"}}
    template = {"metadata": {"labels": selector["matchLabels"]}, "spec": _machine_spec("any")}
    spec = {"clusterName": CLUSTER, "replicas": 0, "selector": selector, "template": template}
    made = api.create(a_thing(CLUSTER_API, "MachineSet", "workers", spec, namespace))
    return {
        "apiVersion": CLUSTER_API,
        "kind": "MachineSet",
        "name": "workers",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }


def add_cluster_api_machine(
    api: Api, namespace: str, node: str, labels: Mapping[str, str], owner: Mapping[str, Any]
) -> Object:
    """Create a Machine with the name of its node."""
    spec = {**_machine_spec(node), "providerID": provider_id(node)}
    made = api.create(
        a_thing(CLUSTER_API, "Machine", node, spec, namespace, labels, ownerReferences=[dict(owner)])
    )
    status = {"nodeRef": {"name": node}, "initialization": {"infrastructureProvisioned": True}}
    path = f"/apis/{CLUSTER_API}/namespaces/{namespace}/machines/{node}/status"
    api.patch(path, {"status": status})
    return made


def add_openshift_machine(api: Api, namespace: str, node: str, labels: Mapping[str, str]) -> Object:
    made = api.create(
        a_thing(OPENSHIFT, "Machine", node, {"providerID": provider_id(node)}, namespace, labels)
    )
    status = {"nodeRef": {"kind": "Node", "name": node}, "phase": "Running"}
    path = f"/apis/{OPENSHIFT}/namespaces/{namespace}/machines/{node}/status"
    api.patch(path, {"status": status})
    return made


def add_node(api: Api, name: str, **labels: str) -> None:
    """A node whose status only `show` writes."""
    metadata = {"name": name, "labels": labels}
    spec = {"providerID": provider_id(name)}
    api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec})
    show(api, name, "True")


def show(api: Api, node: str, ready: str, **more: str) -> None:
    """Write all of its conditions."""
    conditions = [
        {"type": type_, "status": status, "reason": "Test", "message": ""}
        for type_, status in {"Ready": ready, **more}.items()
    ]
    api.patch(f"/api/v1/nodes/{node}/status", {"status": {"conditions": conditions}})


def _machine_spec(name: str) -> Object:
    return {
        "clusterName": CLUSTER,
        "bootstrap": {"dataSecretName": "none"},
        "infrastructureRef": _made_of("Machine", name),
    }


def _made_of(what: str, name: str) -> Object:
    return {"apiGroup": _INFRASTRUCTURE, "kind": f"Metal3{what}", "name": name}
