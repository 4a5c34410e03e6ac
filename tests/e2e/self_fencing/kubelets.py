"""Fake parts of a cluster: kubelets, the node lifecycle controller, and the controllers that move pods.

A kubelet reaches the API server when its node does, and ends with its boot. The rest is as in Kubernetes: a
silent node becomes Unknown after a while; pods on an out-of-service node are deleted; a deleted pod is
created again, elsewhere.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from controlplane.api import Api, Object
from controlplane.node_objects import condition, node_status
from machine_room.register import Register
from nodemend.api import well_known
from tests.e2e.self_fencing.host import Boot, Host, boottime
from tests.e2e.self_fencing.networks import Networks
from tests.e2e.self_fencing.view import WORKLOADS, View, read

RENEWED_EVERY: Final = 4.0
LEASE_LASTS: Final = 12
NOTICED_AFTER: Final = 15.0
"""Seconds of silence until a node is Unknown.

This time and the two below are shorter than the usual 10, 40 and 50 s: a release also waits for them, and
would come late enough even without any other hold.
"""
_LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{well_known.KUBELET_LEASE_NAMESPACE}/leases"


@dataclass
class Kubelets:
    """Call `serve` in rounds. `view` is the state of the last round."""

    api: Api
    networks: Networks
    hosts: dict[str, Host]
    registers: Path
    view: View = field(default_factory=View)
    served_at: float = field(default_factory=boottime)
    workloads: dict[str, str] = field(default_factory=dict)
    """The node where a pod is created if it does not exist, by the name of the pod."""
    hung: set[str] = field(default_factory=set)
    """IDs of boots whose kubelet no longer renews its Lease."""
    _renewed: dict[str, float] = field(default_factory=dict)
    _registered: dict[str, str] = field(default_factory=dict)

    def register(self, pod: str) -> Register:
        return Register(self.registers / pod)

    def serve(self) -> None:
        # A node that is cut off or reset while the lists are read must not get them.
        speaking = {name: boot for name, host in self.hosts.items() if (boot := self._speaks(host))}
        self.view = read(self.api)
        for name, host in self.hosts.items():
            boot = speaking.get(name)
            if boot is not None and host.boot is boot:
                self._report(name, boot)
                self._run_pods(host, boot)
            elif boottime() - self._renewed.get(name, 0.0) > NOTICED_AFTER:
                self._notice(name)
        self._collect()
        self._replace()
        self.served_at = boottime()

    def is_well(self, name: str) -> bool:
        """True if its Node is Ready by the current boot, whose kubelet renews its Lease."""
        boot, node = self._speaks(self.hosts[name]), self.view.nodes.get(name, {})
        reported = node.get("status", {}).get("nodeInfo", {}).get("bootID")
        return boot is not None and boot.id == reported and _ready(node) == "True"

    def _speaks(self, host: Host) -> Boot | None:
        boot = host.boot
        reaches = host.name not in self.networks.without_api
        return boot if boot is not None and boot.kubelet and reaches and boot.id not in self.hung else None

    # Kubelet.

    def _report(self, name: str, boot: Boot) -> None:
        if self._registered.get(name) != boot.id or _ready(self.view.nodes[name]) != "True":
            status = {**node_status(name, boot.id), "conditions": [_condition("True")]}
            self.api.patch(f"/api/v1/nodes/{name}/status", {"status": status})
            self._registered[name] = boot.id
        if boottime() - self._renewed.get(name, 0.0) >= RENEWED_EVERY:
            self._renew(name)
            self._renewed[name] = boottime()

    def _renew(self, name: str) -> None:
        spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_LASTS, "renewTime": _now()}
        if name in self._renewed:
            self.api.patch(f"{_LEASES}/{name}", {"spec": spec})
            return
        metadata = {"name": name, "namespace": well_known.KUBELET_LEASE_NAMESPACE}
        self.api.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": spec,
            }
        )

    def _run_pods(self, host: Host, boot: Boot) -> None:
        mine = [pod for pod in self.view.pods.values() if pod["spec"].get("nodeName") == host.name]
        wanted = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in mine}
        for uid, name in wanted.items():
            host.run_workload(uid, self.register(name).file)
        for uid in boot.workloads.keys() - wanted.keys():
            boot.workloads.pop(uid).kill()

    # Kubernetes.

    def _notice(self, name: str) -> None:
        if _ready(self.view.nodes[name]) == "True":
            change = {"status": {"conditions": [_condition("Unknown")]}}
            self.api.patch(f"/api/v1/nodes/{name}/status", change)

    def _collect(self) -> None:
        for name, pod in self.view.pods.items():
            if self.view.tainted(pod["spec"]["nodeName"]):
                self.api.delete(f"{WORKLOADS}/{name}", gracePeriodSeconds=0)

    def _replace(self) -> None:
        for name, where in list(self.workloads.items()):  # Others come and go.
            if name not in self.view.pods:
                self.place(name, where)

    def place(self, pod: str, node: str) -> None:
        containers = [{"name": "writes", "image": "workload"}]
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": pod, "namespace": "default"},
                "spec": {"nodeName": node, "containers": containers},
            }
        )


def _ready(node: Object) -> str:
    return condition(node, "Ready")


def _condition(status: str) -> Object:
    return {"type": "Ready", "status": status, "reason": "Played", "lastTransitionTime": _second()}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _second() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
