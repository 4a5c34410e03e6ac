"""A kubelet's report about its node: that it is alive, and its boot."""

from datetime import UTC, datetime
from pathlib import Path

from tests.e2e.guests.guest.api import Api

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LEASE_LASTS = 40
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class NodeReport:
    def __init__(self, api: Api, node: str, address: str) -> None:
        self._api = api
        self._node = node
        self._address = address
        self._ready_since = ""

    def send(self) -> None:
        """Raises RefusedError, or one of LOST."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        self._renew(f"{now}.000000Z")
        self._tell(f"{now}Z")

    def _renew(self, now: str) -> None:
        spec = {"holderIdentity": self._node, "leaseDurationSeconds": LEASE_LASTS, "renewTime": now}
        if self._api.get(f"{_LEASES}/{self._node}") is not None:
            self._api.merge(f"{_LEASES}/{self._node}", {"spec": spec})
            return
        whole = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
        self._api.ask("POST", _LEASES, {**whole, "metadata": {"name": self._node}})

    def _tell(self, now: str) -> None:
        self._ready_since = self._ready_since or now
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        times = {"lastHeartbeatTime": now, "lastTransitionTime": self._ready_since}
        status = {
            "conditions": [{**ready, **times}],
            "addresses": [{"type": "InternalIP", "address": self._address}],
            "nodeInfo": {"bootID": BOOT_ID.read_text().strip(), "machineID": self._node},
        }
        self._api.merge(f"/api/v1/nodes/{self._node}/status", {"status": status})
