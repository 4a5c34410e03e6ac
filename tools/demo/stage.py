"""A real cluster with Nodemend: three nodes, a StatefulSet with a disk, and an operator on call."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.volumes import stateful_set, storage
from controlplane.waiting import wait_until
from installed.manifests import bind, install
from installed.programs import PROGRAMS, start
from nodemend.api.well_known import SYSTEM_NAMESPACE

GROUPS: Final = ("edge-a", "edge-b", "edge-c")
PEOPLE: Final = "people"
ON_CALL: Final = "anna"
POD: Final = "/api/v1/namespaces/default/pods/db-0"
REMEDIATIONS: Final = f"/apis/nodemend.io/v1alpha1/namespaces/{SYSTEM_NAMESPACE}/manualremediations"
ATTACHMENTS: Final = "/apis/storage.k8s.io/v1/volumeattachments"
SETTINGS: Final = Settings(attacher=True, node_lease_duration=6, node_monitor_grace_period=6.0)
LEADS_SOON: Final = ("--lease-duration=7s", "--renew-deadline=4s", "--request-timeout=1s")


@dataclass(slots=True)
class Stage:
    """The cluster, and a clock that started with the demo."""

    plane: ControlPlane
    on_call: Path
    programs: list[Process]
    began: float = field(default_factory=time.monotonic)

    def tell(self, what: str) -> None:
        seconds = time.monotonic() - self.began
        print(f"{seconds:6.1f} s  {what}", flush=True)

    def pod(self) -> dict[str, Any] | None:
        return self.plane.api.find(POD)

    def node_of_pod(self) -> str:
        """The node of the pod; empty if it does not run."""
        pod = self.pod()
        running = (
            pod and pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        )
        return str(pod["spec"].get("nodeName", "")) if pod and running else ""

    def attached_to(self) -> list[str]:
        items = self.plane.api.get(ATTACHMENTS)["items"]
        return [item["spec"]["nodeName"] for item in items]

    def both_lead(self) -> bool:
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases"
        found = [self.plane.api.find(f"{leases}/{name}") for name in PROGRAMS]
        return all(lease and lease["spec"].get("holderIdentity") for lease in found)

    def remediation(self, node: str) -> dict[str, Any] | None:
        return self.plane.api.find(f"{REMEDIATIONS}/{node}")

    def status_of(self, node: str) -> dict[str, Any]:
        found = self.remediation(node)
        return (found or {}).get("status") or {}


@contextmanager
def open_stage() -> Iterator[Stage]:
    with ControlPlane(SETTINGS) as plane:
        install(plane)
        programs = [start(plane, name, *LEADS_SOON) for name in PROGRAMS]
        for group in GROUPS:
            plane.nodes.add(group)
        for document in (*storage(), *stateful_set("db"), *_policy()):
            plane.api.create(document)
        stage = Stage(plane, _person(plane), programs)
        wait_until("db-0 runs", lambda: bool(stage.node_of_pod()), within=60.0)
        stage.began = time.monotonic()
        yield stage


def _person(plane: ControlPlane) -> Path:
    """The kubeconfig of a user with rights to read and to confirm, and no others."""
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PEOPLE}})
    account = {"name": ON_CALL, "namespace": PEOPLE}
    plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    for role in ("nodemend-viewer", "nodemend-confirmer"):
        bind(plane, role, PEOPLE, ON_CALL)
    return plane.service_account_kubeconfig(PEOPLE, ON_CALL)


def _policy() -> list[dict[str, Any]]:
    """The objects that an admin writes: a policy that acts, and a check that selects nodes and conditions."""
    ours = "nodemend.io/v1alpha1"
    template = {"apiVersion": ours, "kind": "ManualRemediationTemplate", "name": "call-somebody"}
    unknown = {"type": "Ready", "status": "Unknown", "period": "3s", "acceptShortPeriod": True}
    return [
        {
            "apiVersion": ours,
            "kind": "RemediationPolicy",
            "metadata": {"name": "cluster"},
            "spec": {"mode": "Act"},
        },
        {
            "apiVersion": ours,
            "kind": "ManualRemediationTemplate",
            "metadata": {"name": "call-somebody", "namespace": SYSTEM_NAMESPACE},
            "spec": {"template": {"spec": {"instructions": "Go to the machine and pull both plugs."}}},
        },
        {
            "apiVersion": ours,
            "kind": "NodeHealthCheck",
            "metadata": {"name": "all-nodes"},
            "spec": {
                "selector": {},
                "thresholds": [unknown],
                "remedies": [{"template": {**template, "namespace": SYSTEM_NAMESPACE}}],
                "healthyDelay": "3s",
            },
        },
    ]
