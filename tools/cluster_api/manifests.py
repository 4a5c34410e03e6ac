"""A Cluster, its Machines and a check of them, with the fields that Cluster API's webhooks would set."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cluster_api.fake_providers import CONTROL_PLANE, INFRASTRUCTURE, reference
from controlplane.api import Object

NAMESPACE: Final = "default"
CLUSTER: Final = "main"
VERSION: Final = "cluster.x-k8s.io/v1beta2"
OF_CLUSTER: Final = {"cluster.x-k8s.io/cluster-name": CLUSTER}
POOL: Final = "pool"
REMEDIATION: Final = "infrastructure.cluster.x-k8s.io/v1beta1"
TEMPLATE: Final = "reboot"


def kubeconfig_secret(kubeconfig: Path) -> Object:
    """The manager's access to the Cluster's own API server. It only reads Secrets with the label."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{CLUSTER}-kubeconfig", "namespace": NAMESPACE, "labels": OF_CLUSTER},
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(kubeconfig.read_bytes()).decode()},
    }


def cluster(host: str, port: int) -> Object:
    return {
        "apiVersion": VERSION,
        "kind": "Cluster",
        "metadata": {"name": CLUSTER, "namespace": NAMESPACE},
        "spec": {
            "controlPlaneEndpoint": {"host": host, "port": port},
            "infrastructureRef": reference(INFRASTRUCTURE, "StandInCluster", CLUSTER),
            "controlPlaneRef": reference(CONTROL_PLANE, "StandInControlPlane", CLUSTER),
        },
    }


def pool() -> Object:
    """An owner for Machines that no controller reconciles.

    A Machine without a controlling owner has its Node patched, without effect, at every reconcile.
    """
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": POOL, "namespace": NAMESPACE}}


def machine(name: str, labels: Mapping[str, str], owner: str, infrastructure: str) -> Object:
    """`owner` is the uid of the pool, `infrastructure` the kind of its infrastructure object."""
    controller = {"apiVersion": "v1", "kind": "ConfigMap", "name": POOL, "uid": owner, "controller": True}
    return {
        "apiVersion": VERSION,
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {**OF_CLUSTER, **labels},
            "ownerReferences": [controller],
        },
        "spec": {
            "clusterName": CLUSTER,
            "bootstrap": {"dataSecretName": "none"},  # Required; never read.
            "infrastructureRef": reference(INFRASTRUCTURE, infrastructure, name),
        },
    }


def template() -> Object:
    """metal3's template, from which requests are created."""
    reboot = {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "5m0s"}}
    return {
        "apiVersion": REMEDIATION,
        "kind": "Metal3RemediationTemplate",
        "metadata": {"name": TEMPLATE, "namespace": NAMESPACE},
        "spec": {"template": {"spec": reboot}},
    }


def check(
    name: str, labels: Mapping[str, str], *, timeout: int, most: int, template: str = REMEDIATION
) -> Object:
    """Machines of these labels: unhealthy after `timeout` seconds, left alone if more than `most` are.

    `template` is the apiVersion of the template, which has metal3's kind.
    """
    return {
        "apiVersion": VERSION,
        "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": OF_CLUSTER},
        "spec": {
            "clusterName": CLUSTER,
            "selector": {"matchLabels": dict(labels)},
            "checks": {
                "nodeStartupTimeoutSeconds": 0,
                "unhealthyNodeConditions": [
                    {"type": "Ready", "status": status, "timeoutSeconds": timeout}
                    for status in ("Unknown", "False")
                ],
            },
            "remediation": {
                "templateRef": {
                    "apiVersion": template,
                    "kind": "Metal3RemediationTemplate",
                    "name": TEMPLATE,
                },
                "triggerIf": {"unhealthyLessThanOrEqualTo": most},
            },
        },
    }
