"""Nodes that another operator works on, etcd members and finished Pods: on a real API server, by the running
checker.
"""

from collections.abc import Iterator

import pytest

from controlplane.process import Process
from controlplane.waiting import wait_until
from generate.outputs import install_documents
from installed.programs import start
from nodemend.records.node import MIRROR
from tests.e2e.refusals.installed_cluster import (
    CHECKS,
    NODES,
    POLICY,
    REMEDIATIONS,
    Cluster,
    health_check,
    installed_cluster,
    node,
)

pytestmark = pytest.mark.real

HELD, MEMBER, *OTHERS = (f"edge-{number}" for number in range(6))
SPACE = "medik8s-leases"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/node-{HELD}"
SOON = 60.0


class Story:
    def __init__(self, cluster: Cluster) -> None:
        self.api = cluster.plane.api
        self._checker: Process = start(cluster.plane, "nodemend-checker", f"--medik8s-leases={SPACE}")

    def until(self, name: str, words: str) -> None:
        """Wait until the check reports this about a node."""
        wait_until(
            f"{name}: {words}", lambda: words in self._message(name), within=SOON, processes=[self._checker]
        )

    def show(self, name: str, ready: str) -> None:
        conditions = [{"type": "Ready", "status": ready, "reason": "Test"}]
        self.api.patch(f"{NODES}/{name}/status", {"status": {"conditions": conditions}})

    def grant(self) -> None:
        """Add the rights that the chart grants if Leases are respected."""
        documents = install_documents("medik8sLeases.respect=true")
        for document in documents:
            if document["metadata"]["name"] == "nodemend-checker-medik8s":
                self.api.create(document)

    def history(self) -> list[tuple[str, str, str]]:
        past = self.api.get(f"{CHECKS}/workers").get("status", {}).get("history", ())
        return [(one["node"], one["kind"], one["outcome"]) for one in past]

    def _message(self, name: str) -> str:
        reports = self.api.get(f"{CHECKS}/workers").get("status", {}).get("reports", ())
        return next((row.get("message", "") for row in reports if row["name"] == name), "")


@pytest.fixture
def story() -> Iterator[Story]:
    """Two nodes without a role run etcd; another operator has taken the Lease of another node."""
    with installed_cluster() as cluster:
        api = cluster.plane.api
        for name in (HELD, MEMBER, *OTHERS):
            api.create(node(name))
            conditions = [{"type": "Ready", "status": "True", "reason": "Test"}]
            api.patch(f"{NODES}/{name}/status", {"status": {"conditions": conditions}})
        for name in (MEMBER, OTHERS[0]):
            metadata = {
                "name": f"etcd-{name}",
                "namespace": "kube-system",
                "labels": {"component": "etcd"},
                "annotations": {MIRROR: "8c1"},
            }
            spec = {"nodeName": name, "containers": [{"name": "etcd", "image": "etcd"}]}
            api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        lease = {"holderIdentity": "node-maintenance", "leaseDurationSeconds": 3600}
        metadata = {"name": f"node-{HELD}", "namespace": SPACE}
        api.create(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": lease}
        )
        template = {"metadata": {"name": "call-the-admin", "namespace": "default"}, "spec": {}}
        api.create({"apiVersion": "nodemend.io/v1alpha1", "kind": "ManualRemediationTemplate", **template})
        check = health_check("workers")
        bad = {"type": "Ready", "status": "False", "period": "1s", "acceptShortPeriod": True}
        check["spec"] |= {"selector": {}, "thresholds": [bad], "dryRun": False, "healthyDelay": "1s"}
        api.create(check)
        api.patch(POLICY, {"spec": {"mode": "Act", "maxUnhealthy": "100%", "minInterval": "1s"}})
        yield Story(cluster)


def test_another_operator_holds_a_node_until_it_releases_it_and_etcd_keeps_its_majority(story: Story) -> None:
    story.show(HELD, "False")
    story.show(MEMBER, "False")
    story.until(MEMBER, "Without this node 1 of 2 control-plane nodes would be Ready")
    story.until(HELD, "Cannot read the Lease that medik8s has for this node")
    story.grant()
    story.until(HELD, f"node-maintenance (by the Lease {SPACE}/node-{HELD}) is active on this node")
    assert story.api.find(f"{REMEDIATIONS}/{HELD}") is None

    story.api.delete(LEASE)
    wait_until("it begins", lambda: story.api.find(f"{REMEDIATIONS}/{HELD}") is not None, within=SOON)
    story.show(HELD, "True")
    wait_until("it has ended", lambda: bool(story.history()), within=SOON)
    assert story.history() == [(HELD, "ManualRemediation", "Healed")]
    assert story.api.find(f"{REMEDIATIONS}/{MEMBER}") is None
