"""Kubernetes' own controllers, as far as they decide where a process may start.

Node lifecycle (a Node without Lease renewals becomes Unknown), taint eviction, pod garbage collection on
out-of-service and deleted Nodes, attach and detach, one StatefulSet per workload, and the scheduler. Periods
are those of the real controllers. As in Kubernetes, they watch Nodes and Pods separately, and the watch of
Nodes can lag.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from nodemend.api import well_known
from nodemend.api.meta import print_time
from nodemend.api.resources import LEASE, NODE, POD, VOLUME_ATTACHMENT
from nodemend.kube.request import EVERYTHING, Selection
from nodemend.safety.facts import Taint, Toleration, tolerates
from simulation.cluster.direct import Direct, Object
from simulation.scheduler import Scheduler

MONITOR_EVERY: Final = 5.0
GRACE: Final = 40.0
COLLECT_EVERY: Final = 20.0
QUARANTINE: Final = 40.0
"""Seconds after the deletion of a Node before its Pods are collected."""
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
NOT_READY: Final = "node.kubernetes.io/not-ready"
"""The API server sets it on every Node when it is created."""
WORKLOAD_NAMESPACE: Final = "default"


class Engine:
    """Runs all these controllers on the true clock."""

    def __init__(self, api: Direct, scheduler: Scheduler, workloads: Iterable[str]) -> None:
        self._api = api
        self._scheduler = scheduler
        self._workloads = tuple(workloads)
        self._seen: dict[str, tuple[str, float]] = {}
        self._missing: dict[str, float] = {}
        self._nodes = LateNodes(api, scheduler)
        self.away = False
        """True while no controller reaches the API server."""
        self.stuck: set[str] = set()
        """Nodes from which no volume is ever detached."""
        self.removed: Callable[[Object], None] = lambda pod: None
        """Called with each Pod immediately before its forced deletion."""
        self._news = api.news((NODE, EVERYTHING), (POD, EVERYTHING), (VOLUME_ATTACHMENT, EVERYTHING))

    def fall_behind(self, seconds: float) -> None:
        """From now on, all controllers except the monitor see Nodes with this delay; 0 ends the delay."""
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
        """Measure silence with this controller's own clock, as the real controller does."""
        now = self._scheduler.now
        leases = self._api.list(LEASE, Selection(namespace=well_known.KUBELET_LEASE_NAMESPACE))
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
        wanted = [*kept, {"key": key, "effect": well_known.NO_EXECUTE}] if present else kept
        version = node["metadata"]["resourceVersion"]
        change = {"metadata": {"resourceVersion": version}, "spec": {"taints": wanted or None}}
        # A conflict is ignored: the next period tries again.
        self._api.try_patch(NODE, node["metadata"]["name"], change)

    def _evict(self) -> None:
        """Evict only for the out-of-service taint.

        Pods that the unreachable taint evicts remain until their kubelet confirms the end, so that taint is
        not simulated here.
        """
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
        """Detach a volume if no Pod on the node uses it; attach it to the node to which its Pod is bound."""
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
        """StatefulSet controller and scheduler in one: create a missing Pod if a node fits."""
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
            if any(taint["key"] == well_known.OUT_OF_SERVICE for taint in node["spec"].get("taints", ()))
        ]

    def _pods_on(self, node: str) -> list[Object]:
        return self._api.list(POD, Selection(fields=f"spec.nodeName={node}"))


def _ready(node: Object) -> str:
    conditions = node.get("status", {}).get("conditions", ())
    return next((condition["status"] for condition in conditions if condition["type"] == "Ready"), "Unknown")


def _stays(pod: Object, node: Object) -> bool:
    """Return whether the Pod tolerates every NoExecute taint of the Node."""
    declared = [
        Toleration(
            one.get("key", ""), one.get("operator", "Equal"), one.get("value", ""), one.get("effect", "")
        )
        for one in pod["spec"].get("tolerations", ())
    ]
    taints = (
        Taint(one["key"], one["effect"], one.get("value", "")) for one in node["spec"].get("taints", ())
    )
    return all(tolerates(declared, taint) for taint in taints if taint.effect == well_known.NO_EXECUTE)


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


class LateNodes:
    """Delayed list of Nodes. It never goes back: when a delay begins, the list first stays constant."""

    def __init__(self, api: Direct, scheduler: Scheduler) -> None:
        self.lag = 0.0
        self._api = api
        self._scheduler = scheduler
        self._news = api.news((NODE, EVERYTHING))
        self._past: deque[tuple[float, list[Object]]] = deque()
        """States with the time at which each began, oldest first. The first entry is the visible state."""

    def list(self) -> list[Object]:
        now = self._scheduler.now
        if self._news.any() or not self._past:
            self._past.append((now, self._api.list(NODE)))
        while len(self._past) > 1 and self._past[1][0] <= now - self.lag:
            self._past.popleft()
        return self._past[0][1]
