"""Three real workload API servers behind Cluster API's Secrets, one of which hangs: the others are served.

The management cluster has Cluster API's own definitions, and the checker runs under its own account, with the
rights that the chart gives it.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest
import yaml

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from generate.outputs import render_chart
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.keys import SYSTEM_NAMESPACE
from tests.integration.played_machines import CLUSTER_API, a_thing, show

pytestmark = pytest.mark.real

METAL3: Final = "infrastructure.cluster.x-k8s.io/v1beta1"
AT: Final = f"/apis/{CLUSTER_API}/namespaces/default"
FIXES: Final = f"/apis/{METAL3}/namespaces/default/metal3remediations"
NAMES: Final = ("a", "b", "c")
TIMEOUT: Final = 20

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fleet:
    management: ControlPlane
    clusters: dict[str, ControlPlane]
    checker: Process

    def fixes(self) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.management.api.list(FIXES))

    def status(self, cluster: str) -> Object:
        found: Object = self.management.api.get(f"{AT}/machinehealthchecks/{cluster}").get("status", {})
        return found

    def allowed(self, cluster: str) -> tuple[str, str]:
        """Whether remediation is allowed, and what is said about it."""
        shown = {one["type"]: one for one in self.status(cluster).get("conditions", ())}
        condition = shown.get("RemediationAllowed", {})
        return condition.get("status", ""), condition.get("message", "")

    def is_all_healthy(self, cluster: str) -> bool:
        status = self.status(cluster)
        return bool(status.get("currentHealthy") == 3 and self.allowed(cluster)[0] == "True")

    def marks(self, machine: str) -> Object:
        shown = self.management.api.get(f"{AT}/machines/{machine}")["status"].get("conditions", ())
        return {one["type"]: one["status"] for one in shown}

    def until(self, what: str, holds: Any, within: float) -> None:
        wait_until(what, holds, within=within, processes=[self.checker])


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with ExitStack() as planes:
        management, *others = (planes.enter_context(ControlPlane(API_SERVER_ALONE)) for _ in range(4))
        clusters = dict(zip(NAMES, others, strict=True))
        furnish(management)
        for name, plane in clusters.items():
            add_cluster(management, name, plane)
        flags = ("--machine-health-checks=on", "--workload-clusters=on")
        checker = start(management, "nodemend-checker", *flags)
        # A stopped process cannot be asked to end.
        planes.callback(clusters["b"].resume, "kube-apiserver")
        yield Fleet(management, clusters, checker)


def furnish(plane: ControlPlane) -> None:
    """Everything but the clusters: kinds, rights, a policy that acts, a template."""
    install(plane)
    install_kinds(plane, "cluster-api", "metal3")
    chosen = ("enabled=true", "workloadClusters.enabled=true", "workloadClusters.namespaces={default}")
    chart = yaml.safe_load_all(render_chart(*(f"machineHealthChecks.{setting}" for setting in chosen)))
    for document in chart:
        name = document["metadata"]["name"] if document else ""
        if name in ("nodemend-checker-machines", "nodemend-checker-workload-clusters"):
            plane.api.create(document)
    group = METAL3.partition("/")[0]
    rules = [
        {"apiGroups": [group], "resources": ["metal3remediationtemplates"], "verbs": ["get"]},
        {
            "apiGroups": [group],
            "resources": ["metal3remediations"],
            "verbs": ["get", "list", "watch", "create", "delete"],
        },
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": rules}
    plane.api.create({**role, "metadata": {"name": "may-fix"}})
    bind(plane, "may-fix", SYSTEM_NAMESPACE, "nodemend-checker")
    spec = {"mode": "Act", "minInterval": "1s", "settleTime": "1s", "maxUnhealthy": "100%"}
    policy = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy", "spec": spec}
    plane.api.create({**policy, "metadata": {"name": "cluster"}})
    reboot = {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "5m0s"}}
    template = {"template": {"spec": reboot}}
    plane.api.create(a_thing(METAL3, "Metal3RemediationTemplate", "reboot", template, "default"))


def add_cluster(management: ControlPlane, name: str, plane: ControlPlane) -> None:
    """Three nodes there; here their Machines, the Cluster, its Secret and its check."""
    api = management.api
    endpoint = {"host": "127.0.0.1", "port": plane.port}
    labels = {"cluster.x-k8s.io/cluster-name": name}
    api.create(a_thing(CLUSTER_API, "Cluster", name, {"controlPlaneEndpoint": endpoint}, "default"))
    ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
    api.patch(f"{AT}/clusters/{name}/status", {"status": {"initialization": ready}})
    kubeconfig = base64.b64encode(plane.kubeconfig.read_bytes()).decode()
    secret = {"name": f"{name}-kubeconfig", "namespace": "default", "labels": labels}
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": secret, "data": {"value": kubeconfig}})
    for number in range(3):
        add_machine(management, name, plane, number)
    template = {"apiVersion": METAL3, "kind": "Metal3RemediationTemplate", "name": "reboot"}
    checks = {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": TIMEOUT}]}
    claim = {"cluster.x-k8s.io/watch-filter": "nodemend"}
    spec = {
        "clusterName": name,
        "selector": {"matchLabels": labels},
        "checks": checks,
        "remediation": {"templateRef": template},
    }
    api.create(a_thing(CLUSTER_API, "MachineHealthCheck", name, spec, "default", claim))


def add_machine(management: ControlPlane, cluster: str, plane: ControlPlane, number: int) -> None:
    """Its node is called like one of every other cluster."""
    node, machine = f"node-{number}", f"{cluster}-{number}"
    identity = {"providerID": f"test://{machine}"}
    plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "spec": identity})
    show(plane.api, node, "True")
    spec = {
        "clusterName": cluster,
        "bootstrap": {"dataSecretName": "none"},
        "infrastructureRef": {"apiGroup": METAL3.partition("/")[0], "kind": "Metal3Machine", "name": machine},
        **identity,
    }
    labels = {"cluster.x-k8s.io/cluster-name": cluster}
    management.api.create(a_thing(CLUSTER_API, "Machine", machine, spec, "default", labels))
    status = {"nodeRef": {"name": node}, "initialization": {"infrastructureProvisioned": True}}
    management.api.patch(f"{AT}/machines/{machine}/status", {"status": status})


def test_of_three_clusters_one_that_hangs_is_left_alone_and_the_others_are_served(fleet: Fleet) -> None:
    for name in NAMES:
        fleet.until(f"all of {name} is healthy", partial(fleet.is_all_healthy, name), within=120.0)
    before = fleet.marks("b-1")

    for name in NAMES:
        show(fleet.clusters[name].api, "node-1", "Unknown")
    fleet.until("it is seen in b", lambda: fleet.status("b")["currentHealthy"] == 2, within=TIMEOUT - 5)
    fleet.clusters["b"].pause("kube-apiserver")
    fleet.until("the others have theirs", lambda: fleet.fixes() == ["a-1", "c-1"], within=90.0)

    def says_why() -> bool:
        allowed, message = fleet.allowed("b")
        return allowed == "False" and "its API server does not answer" in message

    fleet.until("the check of the one that hangs says why", says_why, within=150.0)
    assert fleet.fixes() == ["a-1", "c-1"]
    assert fleet.marks("b-1") == before
    assert [fleet.status(name)["currentHealthy"] for name in NAMES] == [2, 0, 2]

    fleet.clusters["b"].resume("kube-apiserver")
    fleet.until("it is served when it is back", lambda: fleet.fixes() == ["a-1", "b-1", "c-1"], within=180.0)
