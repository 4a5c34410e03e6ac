"""Machines: power, boots, kubelets, and the processes of Pods. The ground truth of a run.

A kubelet that is cut off keeps running its processes: this is the danger that fencing prevents.
"""

from collections.abc import Callable
from uuid import NAMESPACE_DNS, uuid5

from nodemend.api import well_known
from nodemend.api.meta import print_micro_time, print_time
from nodemend.api.resources import LEASE, NODE, POD
from nodemend.kube.request import Selection
from simulation.cluster.direct import Direct, Object
from simulation.scheduler import Scheduler

RENEW_EVERY = 10.0
LEASE_LASTS = 40
SYNC_EVERY = 2.0
BOOT_TAKES = 20.0

Started = Callable[["Machine", str], None]


class Machine:
    """One machine and its kubelet."""

    def __init__(self, name: str, api: Direct, scheduler: Scheduler, started: Started) -> None:
        self.name = name
        self.powered = True
        self.connected = True
        self.hung = False
        self.gated = False
        """True if the boot gate keeps the kubelet from starting."""
        self.boots = 1
        self.provider_id = ""
        """Provider ID with which the kubelet registers its Node."""
        self.system_uuid = system_uuid(name)
        """System UUID of the board."""
        self.annotations: dict[str, str] = {}
        """Annotations that the controllers of its Machine write on its Node."""
        self.running: dict[str, str] = {}
        self.switched: Callable[[Machine], None] = lambda machine: None
        """Called after each change of power."""
        self._api = api
        self._scheduler = scheduler
        self._started = started
        self._chance = scheduler.chance(f"machine {name}")
        self._up_since = 0.0
        self._registered_boot = ""
        self._behind = False
        self._news = api.news(
            (POD, Selection(fields=f"spec.nodeName={name}")),
            (NODE, Selection(fields=f"metadata.name={name}")),
        )

    @property
    def boot_id(self) -> str:
        return f"{self.name}-boot-{self.boots}"

    @property
    def booted(self) -> bool:
        return self.powered and self._scheduler.now >= self._up_since

    @property
    def kubelet_works(self) -> bool:
        return self.booted and self.connected and not self.hung and not self.gated

    def start(self) -> None:
        self._register()
        self._scheduler.after(self._chance.uniform(0, RENEW_EVERY), self._renew_loop)
        self._scheduler.after(self._chance.uniform(0, SYNC_EVERY), self._sync_loop)

    def power_off(self) -> None:
        """Cut the power immediately: every process of this boot ends."""
        self._scheduler.note(f"{self.name} loses power")
        self.powered = False
        self.running.clear()
        self.switched(self)

    def restart_kubelet(self) -> None:
        """Restart the kubelet on the same boot; processes keep running.

        The kubelet registers again if its Node was deleted.
        """
        self._registered_boot = ""

    def power_on(self) -> None:
        if self.powered:
            return
        self.boots += 1
        self.powered, self.hung = True, False
        self._up_since = self._scheduler.now + self._chance.uniform(BOOT_TAKES / 2, BOOT_TAKES)
        self._scheduler.note(f"{self.name} boots as {self.boot_id}")
        self.switched(self)

    def _renew_loop(self) -> None:
        if self.kubelet_works:
            self.renew()
        self._scheduler.after(RENEW_EVERY, self._renew_loop)

    def renew(self) -> None:
        now = print_micro_time(self._scheduler.wall())
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": LEASE_LASTS, "renewTime": now}
        at = (well_known.KUBELET_LEASE_NAMESPACE, "")
        if self._api.patch(LEASE, self.name, {"spec": spec}, at=at) is None:
            body = {"metadata": {"name": self.name, **self._owner()}, "spec": spec}
            self._api.create(LEASE, body, well_known.KUBELET_LEASE_NAMESPACE)

    def _owner(self) -> Object:
        """Return the owner of a kubelet's Lease, its Node: the Lease is deleted together with the Node."""
        node = self._api.get(NODE, self.name)
        if node is None:
            return {}
        reference = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": self.name}
        return {"ownerReferences": [{**reference, "uid": node["metadata"]["uid"]}]}

    def _register(self) -> None:
        if self._api.get(NODE, self.name) is None:
            metadata = {"name": self.name, "labels": {"kubernetes.io/hostname": self.name}}
            spec = {"providerID": self.provider_id} if self.provider_id else {}
            noted = {"annotations": self.annotations} if self.annotations else {}
            self._api.create(NODE, {"metadata": {**metadata, **noted}, "spec": spec})
        self.renew()
        self.report()

    def report(self) -> None:
        """Report Ready and the boot ID. The kubelet writes only if something changed."""
        node = self._api.get(NODE, self.name)
        if node is None:
            return
        status = node.get("status", {})
        ready = next((c for c in status.get("conditions", ()) if c["type"] == "Ready"), None)
        same_boot = status.get("nodeInfo", {}).get("bootID") == self.boot_id
        if ready is not None and ready["status"] == "True" and same_boot:
            return
        now = print_time(self._scheduler.wall())
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        others = [c for c in status.get("conditions", ()) if c["type"] != "Ready"]
        info = node_info(self.name, self.boot_id) | {"systemUUID": self.system_uuid}
        change = {"status": {"conditions": [*others, condition], "nodeInfo": info}}
        self._api.patch(NODE, self.name, change, at=("", "status"))

    def _sync_loop(self) -> None:
        changed = self._news.any() or self._behind
        self._behind = changed and not self.kubelet_works
        if self.kubelet_works and (changed or self._registered_boot != self.boot_id):
            self._sync()
        self._scheduler.after(SYNC_EVERY, self._sync_loop)

    def _sync(self) -> None:
        """Handle Pods first, then report: a real kubelet may start containers before it reports Ready."""
        if self._registered_boot != self.boot_id and self._api.get(NODE, self.name) is None:
            self._register()
        bound = self._api.list(POD, Selection(fields=f"spec.nodeName={self.name}"))
        for pod in bound:
            self._settle(pod)
        alive = {pod["metadata"]["uid"] for pod in bound}
        self.running = {uid: who for uid, who in self.running.items() if uid in alive}
        self._registered_boot = self.boot_id
        self.report()

    def _settle(self, pod: Object) -> None:
        metadata = pod["metadata"]
        if metadata.get("deletionTimestamp"):
            self.running.pop(metadata["uid"], None)
            self._api.delete(POD, metadata["name"], metadata["namespace"], grace=0)
        elif metadata["uid"] not in self.running:
            self.running[metadata["uid"]] = metadata["name"]
            self._started(self, metadata["name"])


def system_uuid(name: str) -> str:
    """Return the system UUID of the machine with this name."""
    return str(uuid5(NAMESPACE_DNS, name))


def node_info(name: str, boot_id: str) -> Object:
    same = dict.fromkeys(
        ("kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion"),
        "simulated",
    )
    identity = {"machineID": name, "systemUUID": system_uuid(name), "bootID": boot_id}
    return {**same, **identity, "operatingSystem": "linux", "architecture": "amd64"}
