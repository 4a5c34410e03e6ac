"""An order from the command line to the remediation, on a real API server, by the running checker."""

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.process import Process
from controlplane.waiting import wait_until
from installed.programs import mend, start
from tests.e2e.refusals.installed_cluster import (
    CHECKS,
    NODES,
    ORDERS,
    PEOPLE,
    POLICY,
    REMEDIATIONS,
    Cluster,
    health_check,
    installed_cluster,
    node,
)

pytestmark = pytest.mark.real

SICK = "edge-0"
NAMES = tuple(f"edge-{number}" for number in range(5))
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
SOON = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A node that is not Ready, but not for the required hour. The first unhealthy node closes the guard."""
    with installed_cluster() as cluster:
        api = cluster.plane.api
        for name in NAMES:
            api.create(node(name))
            ready = {"type": "Ready", "status": "False" if name == SICK else "True", "reason": "Test"}
            api.patch(f"{NODES}/{name}/status", {"status": {"conditions": [ready]}})
        template = {"metadata": {"name": "call-the-admin", "namespace": "default"}, "spec": {}}
        api.create({"apiVersion": "nodemend.io/v1alpha1", "kind": "ManualRemediationTemplate", **template})
        check = health_check("workers")
        check["spec"] |= {
            "selector": {},
            "thresholds": [{"type": "Ready", "status": "False", "period": "1h"}],
            "dryRun": False,
        }
        api.create(check)
        api.patch(POLICY, {"spec": {"mode": "Act", "maxUnhealthy": 1, "minInterval": "1s"}})
        yield cluster


@pytest.fixture(scope="module")
def checker(cluster: Cluster) -> Process:
    return start(cluster.plane, "nodemend-checker")


def order(cluster: Cluster, person: str, verb: str) -> None:
    kubeconfig = cluster.plane.service_account_kubeconfig(PEOPLE, person)
    shown = mend(kubeconfig, verb, SICK, "--reason", "it is really dead", "--yes")
    assert shown.returncode == 0, shown.stderr


def report(cluster: Cluster) -> dict[str, Any]:
    reports = cluster.plane.api.get(f"{CHECKS}/workers").get("status", {}).get("reports", ())
    return next((row for row in reports if row["name"] == SICK), {})


def test_an_order_is_held_by_the_guard_and_one_past_it_is_followed_once(
    cluster: Cluster, checker: Process
) -> None:
    api = cluster.plane.api
    wait_until("it is suspect", lambda: report(cluster).get("verdict") == "Suspect", within=SOON)
    order(cluster, "operator", "run")

    def held() -> bool:
        """True if the guard holds it; before its caches are complete, the checker holds it for that."""
        row = report(cluster)
        too_many = "Too many targets are unhealthy in the cluster: 1 of 5" in row.get("message", "")
        return row.get("verdict") == "Held" and too_many

    wait_until("it is held", held, within=SOON, processes=[checker])
    assert api.find(f"{REMEDIATIONS}/{SICK}") is None

    order(cluster, "overrider", "override")
    wait_until(
        "it begins", lambda: api.find(f"{REMEDIATIONS}/{SICK}") is not None, within=SOON, processes=[checker]
    )
    wait_until("the order is used up", lambda: api.find(f"{ORDERS}/{SICK}") is None, within=SOON)
    annotations = api.get(f"{REMEDIATIONS}/{SICK}")["metadata"]["annotations"]
    assert annotations["nodemend.io/ordered-by"] == cluster.user_name("overrider")
    assert annotations["nodemend.io/ordered-because"] == "it is really dead"
    assert annotations["nodemend.io/past-guard"] == "TooManyUnhealthy"

    def reported() -> set[str]:
        return {event["reason"] for event in api.list(EVENTS) if event["regarding"]["name"] == SICK}

    wanted = {"RemediationOrdered", "RemediationHeld", "OverrideUsed", "RemediationStarted"}
    wait_until("it is told", lambda: wanted <= reported(), within=SOON, processes=[checker])
