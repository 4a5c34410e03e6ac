"""Confirmations that the API server accepts and the running remediator does not, with its reasons.

The cluster is paused meanwhile, so that only the confirmation determines the remediator's hold.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from controlplane.process import Process
from controlplane.waiting import wait_until
from installed.programs import start
from nodemend.api.meta import print_micro_time
from tests.e2e.refusals.installed_cluster import NODES, REMEDIATIONS, Cluster, node, remediation
from tests.e2e.refusals.trial import Trial

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
SOON: Final = 60.0
PAUSED: Final = "Paused"


class SickNode:
    """A silent Node, with its own remediation."""

    def __init__(self, cluster: Cluster, name: str, *, lease_seconds: int) -> None:
        self.name = name
        self.cluster = cluster
        self.path = f"{REMEDIATIONS}/{name}"
        api = cluster.plane.api
        api.create(node(name))
        api.patch(f"{NODES}/{name}/status", {"status": {"nodeInfo": _node_info(name)}})
        metadata = {"name": name, "namespace": "kube-node-lease"}
        spec = {"holderIdentity": name, "leaseDurationSeconds": lease_seconds, "renewTime": _now()}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        api.create(lease)
        cluster.checker.create(remediation(name))

    def renew(self) -> None:
        self.cluster.plane.api.patch(f"{LEASES}/{self.name}", {"spec": {"renewTime": _now()}})

    def is_silent(self) -> bool:
        return bool(self._status().get("lastRenewTime"))

    def vouch(self) -> None:
        status = self._status()
        shown = {field: status[field] for field in ("nodeUID", "bootID", "lastRenewTime")}
        confirmation = {"by": self.cluster.user_name("anna"), "reason": "I pulled both plugs", **shown}
        # Patch as `kubectl mend` does: the time of a field manager with other fields would not count.
        path = f"{self.path}?fieldManager=kubectl-mend"
        self.cluster.people["anna"].patch(path, {"spec": {"confirmation": confirmation}})

    def age_confirmation(self, by: timedelta) -> None:
        """Make it look older: the API server keeps its time, which a superuser can change."""
        found = self.cluster.plane.api.get(self.path)
        fields = found["metadata"]["managedFields"]
        for entry in fields:
            if "f:confirmation" in str(entry["fieldsV1"]):
                earlier = datetime.fromisoformat(entry["time"]) - by
                entry["time"] = earlier.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.cluster.plane.api.patch(self.path, {"metadata": {"managedFields": fields}})

    def says(self) -> tuple[str, str]:
        """The remediator's reason for its hold, and its message."""
        processing = [c for c in self._status().get("conditions", ()) if c["type"] == "Processing"]
        return (processing[0]["reason"], processing[0].get("message", "")) if processing else ("", "")

    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.cluster.plane.api.get(self.path).get("status") or {}
        return status


def rejected_confirmations(cluster: Cluster, trial: Trial) -> None:
    api = cluster.plane.api
    policy = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy"}
    spec = {"mode": "Act", "pause": {"reason": "words are weighed"}}
    api.create({**policy, "metadata": {"name": "cluster"}, "spec": spec})
    remediator = start(cluster.plane, "nodemend-remediator")
    outlived = SickNode(cluster, "outlived", lease_seconds=1)
    expired = SickNode(cluster, "expired", lease_seconds=1)
    unseen = SickNode(cluster, "unseen", lease_seconds=2)
    for sick in (outlived, expired, unseen):
        wait_until(f"{sick.name} is silent", sick.is_silent, within=SOON, processes=[remediator])
        sick.vouch()
        _expect(trial, remediator, sick, PAUSED, "words are weighed")
    outlived.renew()
    _expect(trial, remediator, outlived, "ConfirmationOutdated", "The kubelet is alive")
    expired.age_confirmation(timedelta(minutes=10, seconds=5))
    _expect(trial, remediator, expired, "ConfirmationExpired", "valid for 600 s")
    _fresh_in_new_eyes(cluster, trial, remediator, unseen)
    _nothing_was_released(cluster, trial, (outlived, expired, unseen))


def _fresh_in_new_eyes(cluster: Cluster, trial: Trial, remediator: Process, sick: SickNode) -> None:
    """A new leader has observed no silence yet: for it the Lease is fresh, regardless of its timestamps."""
    remediator.end()
    cluster.plane.api.patch(f"{LEASES}/{sick.name}", {"spec": {"leaseDurationSeconds": 3600}})
    successor = start(cluster.plane, "nodemend-remediator", replica=1)
    _expect(trial, successor, sick, "KubeletActive", "600 s are needed")
    successor.end()


def _expect(trial: Trial, remediator: Process, sick: SickNode, reason: str, words: str) -> None:
    try:
        wait_until(
            f"{sick.name}: {reason}", lambda: sick.says()[0] == reason, within=SOON, processes=[remediator]
        )
    except TimeoutError:
        trial.misses.append(f"{sick.name}: wanted {reason}, it says {sick.says()}")
        return
    if words in sick.says()[1]:
        trial.refused += 1
    else:
        trial.misses.append(f"{sick.name}: {reason}, but it says {sick.says()[1]!r}")


def _nothing_was_released(cluster: Cluster, trial: Trial, nodes: tuple[SickNode, ...]) -> None:
    for sick in nodes:
        taints = cluster.plane.api.get(f"{NODES}/{sick.name}")["spec"].get("taints", ())
        if any(taint.get("value") == "nodemend" for taint in taints):
            trial.misses.append(f"{sick.name} was released")


def _node_info(name: str) -> dict[str, str]:
    fields = ("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion")
    more = ("kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID")
    return {field: f"{name}-{field}" for field in (*fields, *more)}


def _now() -> str:
    return print_micro_time(datetime.now(UTC))
