"""Nodemend beside the kinds of other projects, and the objects that it needs to create Metal3Remediations."""

from typing import Any, Final

from controlplane.process import Process
from controlplane.run import ControlPlane
from foreign_kinds.install import install as install_kinds
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.integration.machine_objects import a_thing

SPACE: Final = "default"
_GROUP: Final = "infrastructure.cluster.x-k8s.io"
_METAL3: Final = f"{_GROUP}/v1beta1"
REQUESTS: Final = f"/apis/{_METAL3}/namespaces/{SPACE}/metal3remediations"
TEMPLATE: Final = {"apiVersion": _METAL3, "kind": "Metal3RemediationTemplate", "name": "reboot"}

CLAIM: Final = {"cluster.x-k8s.io/watch-filter": "nodemend"}
"""The label of a check that Nodemend serves."""
MACHINES_ON: Final = ("machineHealthChecks.enabled=true",)
CLUSTERS_ON: Final = (
    *MACHINES_ON,
    "machineHealthChecks.workloadClusters.enabled=true",
    f"machineHealthChecks.workloadClusters.namespaces={{{SPACE}}}",
)


def furnish(plane: ControlPlane, *projects: str, settings: tuple[str, ...], **policy: Any) -> None:
    """Install the kinds of these projects and of Metal3, Nodemend with these settings, a template, RBAC, a
    policy.
    """
    install_kinds(plane, *projects, "metal3")
    install(plane, *settings)
    reboot = {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "5m0s"}}
    template = {"template": {"spec": reboot}}
    plane.api.create(a_thing(_METAL3, TEMPLATE["kind"], TEMPLATE["name"], template, SPACE))
    verbs = ["get", "list", "watch", "create", "delete"]
    rules = [
        {"apiGroups": [_GROUP], "resources": ["metal3remediationtemplates"], "verbs": ["get", "list"]},
        {"apiGroups": [_GROUP], "resources": ["metal3remediations"], "verbs": verbs},
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules}
    plane.api.create({**role, "metadata": {"name": "may-reboot"}})
    bind(plane, "may-reboot", SYSTEM_NAMESPACE, "nodemend-checker")
    acting = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy"}
    spec = {"mode": "Act", **policy}
    plane.api.create({**acting, "metadata": {"name": "cluster"}, "spec": spec})


def start_checker(plane: ControlPlane, *, workload_clusters: bool = False) -> Process:
    clusters = ("--workload-clusters=on",) if workload_clusters else ()
    return start(plane, "nodemend-checker", "--machine-health-checks=on", *clusters)


def asked_for(plane: ControlPlane) -> list[str]:
    """The names of the existing remediations."""
    return sorted(one["metadata"]["name"] for one in plane.api.list(REQUESTS))
