"""Fake provider objects: kinds for a cluster, its control plane and its machines, all of them ready.

No controller reconciles these objects: they have the final status of a provider's objects from the start.
"""

from typing import Final

from controlplane.api import Object

INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"
CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io"
VERSION: Final = "v1beta2"


def definitions() -> list[Object]:
    return [
        _definition(INFRASTRUCTURE, "StandInCluster"),
        _definition(INFRASTRUCTURE, "StandInMachine"),
        # metal3's own name for it, by which Nodemend and others find the host of a Machine.
        _definition(INFRASTRUCTURE, "Metal3Machine"),
        _definition(CONTROL_PLANE, "StandInControlPlane"),
    ]


def cluster(name: str, namespace: str) -> list[Object]:
    """Makes the Cluster InfrastructureReady and ControlPlaneInitialized.

    Without either the check evaluates no Machine, and counts every Machine as healthy.
    """
    provisioned = {"initialization": {"provisioned": True}}
    initialized = {"initialization": {"controlPlaneInitialized": True}}
    return [
        {**_header(INFRASTRUCTURE, "StandInCluster", name, namespace), "status": provisioned},
        {**_header(CONTROL_PLANE, "StandInControlPlane", name, namespace), "status": initialized},
    ]


def machine(name: str, namespace: str, provider_id: str, kind: str = "StandInMachine") -> Object:
    """The manager finds the Node by its providerID, which it has from here."""
    return {
        **_header(INFRASTRUCTURE, kind, name, namespace),
        "spec": {"providerID": provider_id},
        "status": {"initialization": {"provisioned": True}},
    }


def reference(group: str, kind: str, name: str) -> Object:
    """As Cluster API refers to a provider's object: without a version, which is on the definition."""
    return {"apiGroup": group, "kind": kind, "name": name}


def _header(group: str, kind: str, name: str, namespace: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{group}/{VERSION}", "kind": kind, "metadata": metadata}


def _definition(group: str, kind: str) -> Object:
    plural = f"{kind.lower()}s"
    # No status subresource: a status can be created along with the object.
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # The contract: which version of these kinds belongs to which of Cluster API's.
        "metadata": {"name": f"{plural}.{group}", "labels": {f"cluster.x-k8s.io/{VERSION}": VERSION}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }
