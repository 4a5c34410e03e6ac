"""The controllers that Kubernetes itself runs, as far as they decide where a process may start.

Node lifecycle (a silent node turns Unknown), taint eviction, pod collection on out-of-service and vanished
nodes, attach and detach, one StatefulSet a workload, and the scheduler. Periods are those of the real ones.
They know Nodes and pods by separate watches, as the real ones do, and that of Nodes can be late.
"""

from collections.abc import Callable, Iterable
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, NODE, POD, VOLUME_ATTACHMENT
from nodemend.api.timestamps import print_time
from nodemend.decide.facts import Taint
from nodemend.decide.workloads import Toleration, tolerates
from nodemend.kube.api_request import EVERYTHING, Selection
from nodemend.testing.cluster.direct import Direct, Object
from nodemend.testing.cluster.late_nodes import LateNodes
from nodemend.testing.scheduler import Scheduler

MONITOR_EVERY: Final = 5.0
GRACE: Final = 40.0
COLLECT_EVERY: Final = 20.0
QUARANTINE: Final = 40.0
"""Seconds for which a Node has to be gone before its pods are collected."""
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The API server sets it on every Node at its creation."""
WORKLOAD_NAMESPACE: Final = "default"


class Engine:
    """Runs them all on the true clock."""

    def __init__(self, api: Direct, scheduler: Scheduler, workloads: Iterable[str]) -> None:
        self._api = api
        self._scheduler = scheduler
        self._workloads = tuple(workloads)
        self._seen: dict[str, tuple[str, float]] = {}
        self._missing: dict[str, float] = {}
        self._nodes = LateNodes(api, scheduler)
        self.away = False
        """None of them reaches the API server."""
        self.stuck: set[str] = set()
        """Nodes from which no volume is ever detached."""
        self.removed: Callable[[Object], None] = lambda pod: None
        """Told of each pod that is about to be removed by force."""
        self._news = api.news((NODE, EVERYTHING), (POD, EVERYTHING), (VOLUME_ATTACHMENT, EVERYTHING))

    def fall_behind(self, seconds: float) -> None:
        """From now on all but the monitor know Nodes as they were so long ago; 0: as they are."""
        self._nodes.lag = seconds

    def start(self) -> None:
        self._every(MONITOR_EVERY, self._monitor_nodes)
        self._every(COLLECT_EVERY, self._collect_pods)
        self._every(1.0, self._follow)

    def _follow(self) -> None:
        if self._news.any() or self._nodes.lag:
            self._evict()
            self._detach()
            self._keep_workloads()

    def _every(self, seconds: float, work: Callable[[], None]) -> None:
        def again() -> None:
            if not self.away:
                work()
            self._scheduler.after(seconds, again)

        self._scheduler.after(seconds, again)

    def _monitor_nodes(self) -> None:
        """Silence is judged by this controller's own clock, as the real one does."""
        now = self._scheduler.now
        leases = self._api.list(LEASE, Selection(namespace=keys.KUBELET_LEASE_NAMESPACE))
        for lease in leases:
            name, renewed = lease["metadata"]["name"], lease["spec"].get("renewTime", "")
            if self._seen.get(name, ("", 0.0))[0] != renewed:
                self._seen[name] = (renewed, now)
        for node in self._api.list(NODE):
            name = node["metadata"]["name"]
            silent = now - self._seen.get(name, ("", now))[1] > GRACE
            if silent and _ready(node) != "Unknown":
                self._turn_unknown(node)
            self._set_taint(node, UNREACHABLE, present=_ready(node) == "Unknown")
            if _ready(node) == "True":
                self._set_taint(node, NOT_READY, present=False)

    def _turn_unknown(self, node: Object) -> None:
        now = print_time(self._scheduler.wall())
        changed = [
            {**condition, "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
            for condition in node["status"].get("conditions", ())
        ]
        name = node["metadata"]["name"]
        self._api.patch(NODE, name, {"status": {"conditions": changed}}, at=("", "status"))
        self._scheduler.note(f"{name} turns Unknown")

    def _set_taint(self, node: Object, key: str, *, present: bool) -> None:
        taints = node["spec"].get("taints", [])
        if any(taint["key"] == key for taint in taints) == present:
            return
        kept = [taint for taint in taints if taint["key"] != key]
        wanted = [*kept, {"key": key, "effect": keys.NO_EXECUTE}] if present else kept
        version = node["metadata"]["resourceVersion"]
        change = {"metadata": {"resourceVersion": version}, "spec": {"taints": wanted or None}}
        # A conflict is no harm: it is tried again at the next look.
        self._api.try_patch(NODE, node["metadata"]["name"], change)

    def _evict(self) -> None:
        """Only the out-of-service taint: what an unreachable one evicts stays until its kubelet agrees."""
        for node in self._nodes_out_of_service():
            for pod in self._pods_on(node["metadata"]["name"]):
                if not pod["metadata"].get("deletionTimestamp") and not _stays(pod, node):
                    self._api.delete(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])

    def _collect_pods(self) -> None:
        names = {node["metadata"]["name"] for node in self._nodes.list()}
        for node in self._nodes_out_of_service():
            if _ready(node) != "True":
                self._force_away(self._pods_on(node["metadata"]["name"]), terminating_only=True)
        orphans = [pod for pod in self._api.list(POD) if pod["spec"].get("nodeName", "") not in {"", *names}]
        now, gone = self._scheduler.now, {pod["spec"]["nodeName"] for pod in orphans}
        self._missing = {name: self._missing.get(name, now) for name in gone}
        due = [pod for pod in orphans if now - self._missing[pod["spec"]["nodeName"]] >= QUARANTINE]
        self._force_away(due, terminating_only=False)

    def _force_away(self, pods: Iterable[Object], *, terminating_only: bool) -> None:
        for pod in pods:
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp") or not terminating_only:
                self._scheduler.note(f"{metadata['name']} is removed by force from {pod['spec']['nodeName']}")
                self.removed(pod)
                self._api.delete(POD, metadata["name"], metadata["namespace"], grace=0)

    def _detach(self) -> None:
        """A volume leaves a node when no pod there uses it; it goes to the node where its pod is bound."""
        bound = {
            (pod["metadata"]["name"], pod["spec"]["nodeName"])
            for pod in self._api.list(POD)
            if pod["spec"].get("nodeName")
        }
        attached = {
            (_volume(attachment), attachment["spec"]["nodeName"]): attachment["metadata"]["name"]
            for attachment in self._api.list(VOLUME_ATTACHMENT)
        }
        for volume, node in sorted(attached.keys() - bound):
            if node not in self.stuck:
                self._api.delete(VOLUME_ATTACHMENT, attached[volume, node])
        taken = {volume for volume, _ in attached}
        for volume, node in sorted(bound - attached.keys()):
            if volume not in taken:
                self._api.create(VOLUME_ATTACHMENT, _attachment(volume, node))

    def _keep_workloads(self) -> None:
        """The StatefulSet controller and the scheduler in one: a pod is made where there is room for it."""
        existing = {pod["metadata"]["name"] for pod in self._api.list(POD)}
        for name in self._workloads:
            if name not in existing and (node := self._fit()):
                self._api.create(POD, _pod(name, node), WORKLOAD_NAMESPACE)
                self._scheduler.note(f"{name} is bound to {node}")

    def _fit(self) -> str | None:
        fit = [
            node["metadata"]["name"]
            for node in self._nodes.list()
            if _ready(node) == "True" and not _repels(node)
        ]
        return min(fit, key=lambda name: (len(self._pods_on(name)), name), default=None)

    def _nodes_out_of_service(self) -> list[Object]:
        return [
            node
            for node in self._nodes.list()
            if any(taint["key"] == keys.OUT_OF_SERVICE for taint in node["spec"].get("taints", ()))
        ]

    def _pods_on(self, node: str) -> list[Object]:
        return self._api.list(POD, Selection(fields=f"spec.nodeName={node}"))


def _ready(node: Object) -> str:
    conditions = node.get("status", {}).get("conditions", ())
    return next((condition["status"] for condition in conditions if condition["type"] == "Ready"), "Unknown")


def _stays(pod: Object, node: Object) -> bool:
    """It tolerates every taint that makes pods leave."""
    declared = [
        Toleration(
            one.get("key", ""), one.get("operator", "Equal"), one.get("value", ""), one.get("effect", "")
        )
        for one in pod["spec"].get("tolerations", ())
    ]
    taints = (
        Taint(one["key"], one["effect"], one.get("value", "")) for one in node["spec"].get("taints", ())
    )
    return all(tolerates(declared, taint) for taint in taints if taint.effect == keys.NO_EXECUTE)


def _repels(node: Object) -> bool:
    return any(taint["effect"] != "PreferNoSchedule" for taint in node["spec"].get("taints", ()))


def _volume(attachment: Object) -> str:
    name: str = attachment["spec"]["source"]["persistentVolumeName"]
    return name


def _attachment(volume: str, node: str) -> Object:
    return {
        "metadata": {"name": f"{volume}.{node}"},
        "spec": {"attacher": "csi.test", "nodeName": node, "source": {"persistentVolumeName": volume}},
    }


def _pod(name: str, node: str) -> Object:
    container = {"name": "main", "image": "simulated"}
    return {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [container]}}
