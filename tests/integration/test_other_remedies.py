"""A remedy with a kind of another project, on a real control plane, under the checker's own account.

The right to use it comes from a labelled ClusterRole, which the real controller manager aggregates.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from controlplane.api import ApiError
from controlplane.process import Process
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.programs import start
from tests.e2e.refusals.installed_cluster import NODES, POLICY, Cluster, installed_cluster, node

pytestmark = pytest.mark.real

CHECKS = "/apis/nodemend.io/v1alpha1/nodehealthchecks"
REBOOTS = "/apis/example.com/v1/namespaces/default/reboots"
MANUAL = "/apis/nodemend.io/v1alpha1/namespaces/default/manualremediations"
NAMES = tuple(f"edge-{number}" for number in range(5))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with installed_cluster(Settings(scheduler=False)) as cluster:
        api = cluster.plane.api
        for kind in ("Reboot", "RebootTemplate"):
            api.create(a_definition(kind))
            wait_until(f"{kind} is served", partial(is_served, cluster, kind), within=60.0)
        for name in NAMES:
            api.create(node(name))
            show(cluster, name, "True")
        api.patch(POLICY, {"spec": {"mode": "Act", "minInterval": "1s", "settleTime": "1s", "pause": None}})
        template = {"spec": {"template": {"spec": {"instructions": "Go there."}}}}
        make(cluster, "nodemend.io/v1alpha1", "ManualRemediationTemplate", "call", template)
        yield cluster


@pytest.fixture(scope="module")
def checker(cluster: Cluster) -> Process:
    return start(cluster.plane, "nodemend-checker")


def a_definition(kind: str) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower()}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def is_served(cluster: Cluster, kind: str) -> bool:
    try:
        cluster.plane.api.get(f"/apis/example.com/v1/namespaces/default/{kind.lower()}s")
    except ApiError as error:
        if error.status not in (404, 429):
            raise
        return False
    return True


def make(cluster: Cluster, version: str, kind: str, name: str, content: dict[str, Any]) -> None:
    metadata = {"name": name, "namespace": "default"}
    cluster.plane.api.create({"apiVersion": version, "kind": kind, "metadata": metadata, **content})


def show(cluster: Cluster, name: str, ready: str) -> None:
    """Write the Node's own report. No other client writes it, since no kubelet ever renewed a Lease."""
    condition = {"type": "example.com/Disk", "status": ready, "reason": "Test", "message": ""}
    cluster.plane.api.patch(f"{NODES}/{name}/status", {"status": {"conditions": [condition]}})


def a_check() -> dict[str, Any]:
    def template(version: str, kind: str, name: str) -> dict[str, str]:
        return {"apiVersion": version, "kind": kind, "name": name, "namespace": "default"}

    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": "disks"},
        "spec": {
            "selector": {},
            "thresholds": [{"type": "example.com/Disk", "status": "False", "period": "1s"}],
            "remedies": [
                {"template": template("example.com/v1", "RebootTemplate", "hard"), "timeout": "1m"},
                {"template": template("nodemend.io/v1alpha1", "ManualRemediationTemplate", "call")},
            ],
            "healthyDelay": "1s",
        },
    }


def report(cluster: Cluster) -> dict[str, Any]:
    reports = cluster.plane.api.get(f"{CHECKS}/disks").get("status", {}).get("reports", ())
    return next((row for row in reports if row["name"] == "edge-0"), {})


def is_reported(cluster: Cluster, remedy: int) -> bool:
    return report(cluster).get("remedy") == remedy


def is_stalled(cluster: Cluster) -> bool:
    conditions = cluster.plane.api.get(f"{CHECKS}/disks").get("status", {}).get("conditions", ())
    return ("Stalled", "True") in [(one["type"], one["status"]) for one in conditions]


def is_reported_by(cluster: Cluster, reasons: set[str]) -> bool:
    """True if the node has events of all these reasons, written by the checker under its own account."""
    events = cluster.plane.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    return reasons <= {event["reason"] for event in events if event["regarding"]["name"] == "edge-0"}


def names_in(cluster: Cluster, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in cluster.plane.api.get(path)["items"]]


def is_there(cluster: Cluster, path: str) -> bool:
    return names_in(cluster, path) == ["edge-0"]


@pytest.mark.conforms("N10", "N21", "W1", "W3")
def test_without_the_right_it_holds_and_reports_it_and_with_it_the_remedies_escalate(
    cluster: Cluster, checker: Process
) -> None:
    api = cluster.plane.api
    make(
        cluster, "example.com/v1", "RebootTemplate", "hard", {"spec": {"template": {"spec": {"hard": True}}}}
    )
    api.create(a_check())
    stalls = partial(is_stalled, cluster)
    wait_until("it says that it could not act", stalls, within=60.0, processes=[checker])
    show(cluster, "edge-0", "False")

    def held() -> bool:
        return "the checker may not list reboots.example.com" in report(cluster).get("message", "")

    wait_until("it holds for want of a right", held, within=60.0, processes=[checker])
    assert names_in(cluster, REBOOTS) == []

    api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "may-reboot", "labels": {"nodemend.io/remedies": "true"}},
            "rules": [
                {"apiGroups": ["example.com"], "resources": ["reboottemplates"], "verbs": ["get"]},
                {
                    "apiGroups": ["example.com"],
                    "resources": ["reboots"],
                    "verbs": ["get", "list", "watch", "create", "delete"],
                },
            ],
        }
    )
    reboot_is_there = partial(is_there, cluster, REBOOTS)
    wait_until("a Reboot is asked for", reboot_is_there, within=60.0, processes=[checker])
    assert api.get(f"{REBOOTS}/edge-0")["spec"] == {"hard": True}
    first = partial(is_reported, cluster, 1)
    wait_until("that is reported as its first remedy", first, within=60.0, processes=[checker])
    failed = {"conditions": [{"type": "Succeeded", "status": "False"}]}
    api.patch(f"{REBOOTS}/edge-0/status", {"status": failed})
    wait_until("the next remedy begins", partial(is_there, cluster, MANUAL), within=60.0, processes=[checker])
    assert names_in(cluster, REBOOTS) == []
    reported = partial(
        is_reported_by, cluster, {"NodeUnhealthy", "RemediationStarted", "RemediationEscalated"}
    )
    wait_until("its events are there", reported, within=60.0, processes=[checker])
    wait_until("it could act", lambda: not is_stalled(cluster), within=60.0, processes=[checker])
    api.patch(POLICY, {"spec": {"mode": "DryRun"}})
