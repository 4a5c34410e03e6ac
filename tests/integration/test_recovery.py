"""The recovery step on a real API server runs once, even if controllers are killed meanwhile."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from controlplane.api import ApiError
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from installed.manifests import bind
from installed.programs import start
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.refusals.installed_cluster import NODES, POLICY, Cluster, installed_cluster, node
from tests.integration.test_other_remedies import a_definition, is_reported_by, is_served, make, names_in

pytestmark = pytest.mark.real

CHECK = "/apis/nodemend.io/v1alpha1/nodehealthchecks/disks"
PORTS_OFF = "/apis/example.com/v1/namespaces/default/portoffs"
PORTS_ON = "/apis/example.com/v1/namespaces/default/portons"
NAMES = tuple(f"edge-{number}" for number in range(4))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with installed_cluster(API_SERVER_ALONE) as cluster:
        api = cluster.plane.api
        for kind in ("PortOff", "PortOffTemplate", "PortOn", "PortOnTemplate"):
            api.create(a_definition(kind))
            wait_until(f"{kind} is served", partial(is_served, cluster, kind), within=30.0)
        for name in NAMES:
            api.create(node(name))
            well(cluster, name, "True")
        quick = {"mode": "Act", "minInterval": "1s", "settleTime": "1s", "pause": None}
        api.patch(POLICY, {"spec": quick})
        for kind in ("PortOff", "PortOn"):
            spec = {"spec": {"template": {"spec": {"port": 2}}}}
            make(cluster, "example.com/v1", f"{kind}Template", "usual", spec)
        use = ["get", "list", "watch", "create", "delete"]
        resources = ["portoffs", "portofftemplates", "portons", "portontemplates"]
        rules = [{"apiGroups": ["example.com"], "resources": resources, "verbs": use}]
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
        api.create({**role, "metadata": {"name": "may-switch"}, "rules": rules})
        bind(cluster.plane, "may-switch", SYSTEM_NAMESPACE, "nodemend-checker")
        yield cluster


def well(cluster: Cluster, name: str, disk: str) -> None:
    """Ready all the time; the check watches the disk."""
    shown = [{"type": "Ready", "status": "True"}, {"type": "example.com/Disk", "status": disk}]
    conditions = [{**one, "reason": "Test", "message": ""} for one in shown]
    cluster.plane.api.patch(f"{NODES}/{name}/status", {"status": {"conditions": conditions}})


def a_check() -> dict[str, Any]:
    def template(kind: str) -> dict[str, str]:
        header = {"apiVersion": "example.com/v1", "kind": f"{kind}Template"}
        return {**header, "name": "usual", "namespace": "default"}

    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": "disks"},
        "spec": {
            "selector": {},
            "thresholds": [{"type": "example.com/Disk", "status": "False", "period": "1s"}],
            "remedies": [{"template": template("PortOff")}],
            "recovery": {"template": template("PortOn"), "timeout": "1m"},
            "healthyDelay": "2s",
        },
    }


def phases(cluster: Cluster) -> list[str]:
    status = cluster.plane.api.get(CHECK).get("status", {})
    return [one["phase"] for one in status.get("recoveries", ())]


def test_what_was_switched_off_is_switched_on_once_though_the_checker_is_killed_on_the_way(
    cluster: Cluster,
) -> None:
    api, checker = cluster.plane.api, start(cluster.plane, "nodemend-checker")
    api.create(a_check())
    well(cluster, "edge-0", "False")

    def off() -> bool:
        return names_in(cluster, PORTS_OFF) == ["edge-0"]

    wait_until("it is isolated", off, within=90.0, processes=[checker])
    kept = {"metadata": {"finalizers": ["example.com/safe-end"]}}
    api.patch(f"{PORTS_OFF}/edge-0", kept)

    well(cluster, "edge-0", "True")

    def pending() -> bool:
        return phases(cluster) == ["Pending"]

    wait_until("a recovery is owed in writing", pending, within=60.0, processes=[checker])

    def ends() -> bool:
        return "deletionTimestamp" in api.get(f"{PORTS_OFF}/edge-0")["metadata"]

    wait_until("the remediation is withdrawn", ends, within=60.0, processes=[checker])
    assert names_in(cluster, PORTS_ON) == []
    checker.kill()
    api.patch(f"{PORTS_OFF}/edge-0", {"metadata": {"finalizers": None}})

    checker = start(cluster.plane, "nodemend-checker", replica=1)

    def on() -> bool:
        return names_in(cluster, PORTS_ON) == ["edge-0"]

    wait_until("the next checker begins it", on, within=90.0, processes=[checker])
    made = api.get(f"{PORTS_ON}/edge-0")
    assert made["spec"] == {"port": 2}

    def running() -> bool:
        return phases(cluster) == ["Running"]

    wait_until("it runs", running, within=60.0, processes=[checker])
    succeeded = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    api.patch(f"{PORTS_ON}/edge-0/status", {"status": succeeded})

    def over() -> bool:
        return names_in(cluster, PORTS_ON) == phases(cluster) == []

    wait_until("it is over", over, within=60.0, processes=[checker])
    reported = partial(is_reported_by, cluster, {"RecoveryStarted", "RecoverySucceeded"})
    wait_until("its events are there", reported, within=60.0, processes=[checker])
    ended = [(one["kind"], one["outcome"]) for one in api.get(CHECK)["status"]["history"]]
    assert ("PortOn", "Recovered") in ended


def test_a_status_that_was_made_from_an_older_version_is_refused(cluster: Cluster) -> None:
    """A pending recovery is recorded only there, so a late write must not erase it."""
    stale = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": "disks", "resourceVersion": "1"},
        "status": {},
    }
    with pytest.raises(ApiError) as refused:
        cluster.plane.api.request(
            "PATCH",
            f"{CHECK}/status",
            stale,
            content_type="application/apply-patch+yaml",
            query={"fieldManager": "test", "force": "true"},
        )
    assert refused.value.status == 409
