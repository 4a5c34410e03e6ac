"""Who is checked: nodes behind Machines of one project or another, or nodes alone. Requests look the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from controlplane.api import Api, Object

SPACE: Final = "default"
CLUSTER: Final = "main"
REQUESTS: Final = f"/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/{SPACE}/metal3remediations"
TEMPLATE: Final = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
    "kind": "Metal3RemediationTemplate",
    "name": "reboot",
}
CLAIM: Final = {"cluster.x-k8s.io/watch-filter": "nodemend"}


class Population(Protocol):
    """`check` is the path of its check."""

    @property
    def name(self) -> str: ...

    @property
    def check(self) -> str: ...

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """Make what stands between these nodes and their check."""
        ...

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        """Make the check: a node is unhealthy when Unknown for so long, unless more than `most` are."""
        ...


def prepare(api: Api) -> None:
    """The template, and the checker's right to use its kind."""
    reboot = {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "5m0s"}}
    api.create(
        {
            "apiVersion": TEMPLATE["apiVersion"],
            "kind": TEMPLATE["kind"],
            "metadata": {"name": TEMPLATE["name"], "namespace": SPACE},
            "spec": {"template": {"spec": reboot}},
        }
    )
    group = "infrastructure.cluster.x-k8s.io"
    api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "may-reboot"},
            "rules": [
                {"apiGroups": [group], "resources": ["metal3remediationtemplates"], "verbs": ["get", "list"]},
                {
                    "apiGroups": [group],
                    "resources": ["metal3remediations"],
                    "verbs": ["get", "list", "watch", "create", "delete"],
                },
            ],
        }
    )


@dataclass(frozen=True, slots=True)
class ClusterApiMachines:
    name: str = "Cluster API"
    check: str = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{SPACE}/machinehealthchecks/workers"
    machines: str = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{SPACE}/machines"

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        version = "cluster.x-k8s.io/v1beta2"
        kind = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": CLUSTER}
        api.create(_object(version, "Cluster", CLUSTER, {"infrastructureRef": kind}))
        ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
        api.patch(
            f"/apis/{version}/namespaces/{SPACE}/clusters/{CLUSTER}/status",
            {"status": {"initialization": ready}},
        )
        for node in nodes:
            infrastructure = {**kind, "kind": "Metal3Machine", "name": node}
            spec = {
                "clusterName": CLUSTER,
                "providerID": provider_id(node),
                "bootstrap": {"dataSecretName": "none"},
                "infrastructureRef": infrastructure,
            }
            api.create(_object(version, "Machine", node, spec, {"pool": "workers"}))
            status = {"nodeRef": {"name": node}, "initialization": {"infrastructureProvisioned": True}}
            api.patch(f"{self.machines}/{node}/status", {"status": status})

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        spec = {
            "clusterName": CLUSTER,
            "selector": {"matchLabels": {"pool": "workers"}},
            "checks": {
                "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": seconds}]
            },
            "remediation": {"templateRef": TEMPLATE, "triggerIf": {"unhealthyLessThanOrEqualTo": most}},
        }
        api.create(_object("cluster.x-k8s.io/v1beta2", "MachineHealthCheck", "workers", spec, CLAIM))


@dataclass(frozen=True, slots=True)
class OpenShiftMachines:
    name: str = "OpenShift"
    check: str = f"/apis/machine.openshift.io/v1beta1/namespaces/{SPACE}/machinehealthchecks/workers"
    machines: str = f"/apis/machine.openshift.io/v1beta1/namespaces/{SPACE}/machines"

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        for node in nodes:
            spec = {"providerID": provider_id(node)}
            api.create(_object("machine.openshift.io/v1beta1", "Machine", node, spec, {"pool": "workers"}))
            reference = {"kind": "Node", "name": node}
            api.patch(
                f"{self.machines}/{node}/status", {"status": {"nodeRef": reference, "phase": "Running"}}
            )

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        spec = {
            "selector": {"matchLabels": {"pool": "workers"}},
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": f"{seconds}s"}],
            "maxUnhealthy": most,
            "remediationTemplate": {**TEMPLATE, "namespace": SPACE},
        }
        api.create(_object("machine.openshift.io/v1beta1", "MachineHealthCheck", "workers", spec, CLAIM))


@dataclass(frozen=True, slots=True)
class NodesAlone:
    name: str = "no Machines"
    check: str = "/apis/nodemend.io/v1alpha1/nodehealthchecks/workers"

    def settle(self, api: Api, nodes: Sequence[str]) -> None:
        """There is nothing between a node and its check."""

    def watch_over(self, api: Api, seconds: int, most: str) -> None:
        spec = {
            "selector": {},
            "thresholds": [
                {"type": "Ready", "status": "Unknown", "period": f"{seconds}s", "acceptShortPeriod": True}
            ],
            "maxUnhealthy": most,
            "healthyDelay": "1s",
            "remedies": [{"template": {**TEMPLATE, "namespace": SPACE}}],
        }
        check = _object("nodemend.io/v1alpha1", "NodeHealthCheck", "workers", spec)
        del check["metadata"]["namespace"]
        api.create(check)


POPULATIONS: Final[tuple[Population, ...]] = (ClusterApiMachines(), OpenShiftMachines(), NodesAlone())


def provider_id(node: str) -> str:
    """As the played nodes have it."""
    return f"test://{node}"


def _object(
    version: str, kind: str, name: str, spec: dict[str, Any], labels: dict[str, str] | None = None
) -> Object:
    metadata = {"name": name, "namespace": SPACE, "labels": dict(labels or {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
