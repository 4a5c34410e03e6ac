"""The Nodes of one workload cluster and the Secrets of others are hostile: another cluster is still served.

Three real API servers: the management cluster with Cluster API's definitions and the checker under its own
account, a healthy workload cluster, and one whose owner writes anything that it allows.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from controlplane.api import Api
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from tests.integration.checker_setup import CLUSTERS_ON, SPACE, asked_for, furnish, start_checker
from tests.integration.machine_objects import CLUSTER_API, a_thing, add_node, provider_id, show
from tests.integration.workload_cluster_objects import AT, add_check, add_cluster, add_machine, check_of

pytestmark = [pytest.mark.real, pytest.mark.attack("S5")]

TIMEOUT: Final = 10
MOST_MEMORY: Final = 400 << 20
"""Bytes; the chart's limit is higher."""
_REST: Final = (
    "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    "current-context: c\n"
    "users: [{name: u, user: {token: t}}]\n"
)


def kubeconfig(cluster: str) -> str:
    return f"clusters: [{{name: c, cluster: {{{cluster}}}}}]\n{_REST}"


SECRETS: Final = {
    "bracket": kubeconfig("server: 'https://['"),
    "timestamp": kubeconfig("server: !!timestamp x"),
    "date": kubeconfig("server: 2026-99-99"),
    "port": kubeconfig("server: 'https://h:99999999999'"),
    "authority": kubeconfig("server: 'https://h', certificate-authority-data: '%%'"),
    "deep": "[" * 20_000,
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nclusters: *c\n",
    "binary": "\x00\x01\x02",
    "nothing": "",
}
CONDITIONS: Final = [
    {"type": "Ready", "status": "Unknown", "lastTransitionTime": "9999-12-31T23:59:59Z"},
    {"type": "Before", "status": "True", "lastTransitionTime": "0001-01-01T00:00:01Z"},
    {"type": "X" * 300_000, "status": "\u202e" * 1000, "reason": "\n" * 1000, "message": "\x1b[2J" * 1000},
    *({"type": f"C{number}", "status": "Unknown"} for number in range(2000)),
]


@dataclass(frozen=True, slots=True)
class Clusters:
    management: ControlPlane
    good: ControlPlane
    checker: Process

    def healthy(self, cluster: str) -> int | None:
        found: int | None = self.management.api.get(check_of(cluster)).get("status", {}).get("currentHealthy")
        return found

    def is_refused(self, cluster: str) -> bool:
        """True if its check reports that nothing may start, because of its kubeconfig."""
        shown = self.management.api.get(check_of(cluster)).get("status", {}).get("conditions", ())
        found = [one for one in shown if one["type"] == "RemediationAllowed" and one["status"] == "False"]
        return bool(found) and "its kubeconfig cannot be used" in found[0]["message"]


def add_hostile_node(api: Api, name: str) -> None:
    annotations = {f"example.com/{number}": "x" * 25_000 for number in range(10)}
    metadata = {"name": name, "annotations": annotations, "labels": {"nodemend.io/exclude": "\u0074rue"}}
    spec = {"providerID": provider_id(name) + "\x1b[2J\n" + "x" * 100_000}
    api.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec})
    info = {"bootID": "\x1b" * 100_000, "systemUUID": "\u202e" * 1000, "machineID": "{{}}"}
    unsaid = ("kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion")
    info |= dict.fromkeys((*unsaid, "operatingSystem", "architecture"), "")
    api.patch(f"/api/v1/nodes/{name}/status", {"status": {"nodeInfo": info, "conditions": CONDITIONS}})


def add_secret(management: Api, name: str, text: str) -> None:
    """A ready Cluster whose Secret has this text."""
    endpoint = {"host": "127.0.0.1", "port": 6443}
    management.create(a_thing(CLUSTER_API, "Cluster", name, {"controlPlaneEndpoint": endpoint}, SPACE))
    up = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
    management.patch(f"{AT}/clusters/{name}/status", {"status": up})
    # Without its label the checker refuses a Secret without reading it.
    labels = {"cluster.x-k8s.io/cluster-name": name}
    metadata = {"name": f"{name}-kubeconfig", "namespace": SPACE, "labels": labels}
    data: dict[str, Any] = {"value": base64.b64encode(text.encode()).decode()}
    management.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    add_machine(management, name, "0", provider_id("0"))
    add_check(management, name, TIMEOUT)


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    with ExitStack() as planes:
        management, good, evil = (planes.enter_context(ControlPlane(API_SERVER_ALONE)) for _ in range(3))
        furnish(
            management,
            "cluster-api",
            settings=CLUSTERS_ON,
            minInterval="1s",
            settleTime="1s",
            maxUnhealthy="100%",
        )
        for name, plane in {"good": good, "evil": evil}.items():
            add_cluster(management.api, name, plane)
            for node in ("0", "1", "2"):
                (add_node if plane is good else add_hostile_node)(plane.api, node)
                add_machine(management.api, name, node, provider_id(node))
            add_check(management.api, name, TIMEOUT)
        for name, text in SECRETS.items():
            add_secret(management.api, name, text)
        yield Clusters(management, good, start_checker(management, workload_clusters=True))


def test_beside_hostile_clusters_the_good_one_is_served(clusters: Clusters) -> None:
    wait = partial(wait_until, processes=[clusters.checker])
    wait("the good one is seen", lambda: clusters.healthy("good") == 3, within=60.0)
    for name in SECRETS:
        wait(f"the check of {name} says why", partial(clusters.is_refused, name), within=60.0)

    show(clusters.good.api, "1", "Unknown")

    wait("it is served", lambda: "good-1" in asked_for(clusters.management), within=TIMEOUT + 60.0)
    assert not [one for one in asked_for(clusters.management) if one.partition("-")[0] in SECRETS]
    assert memory_of(clusters.checker.pid) < MOST_MEMORY


def memory_of(pid: int) -> int:
    """The peak memory of the process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) * 1024
