"""Attributes each forced removal of a pod to Nodemend or to another controller.

Pods are removed by force under any out-of-service taint, and after any deletion of a Node. A removal that
follows from another controller's taint or deletion is excused here; no other removal is.
"""

from typing import Any, Final

import msgspec

from nodemend.api.resources import NODE, POD
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.machines import Machine
from simulation.cluster.world import World
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.walking_path.invariants import is_ours

Object = dict[str, Any]
NODES: Final = "/api/v1/nodes/"
KNOWN_LATE: Final = 60.0
"""Seconds for which Kubernetes may act on a removed taint, because its watch of Nodes may lag."""


class Attribution:
    """Attribution in one world. The invariants report all writes of Nodes to it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.byzantine_peers: set[str] = set()
        """Nodes that lie about themselves. They can harm only their own workloads."""
        self._excused: set[str] = set()
        self._tainted_by_us: dict[str, float] = {}
        self._deleted_by_us: set[str] = set()
        self._brought_back: set[str] = set()
        """Nodes with Nodemend's taint in a backup: Kubernetes acts on it before Nodemend can remove it."""
        self._before: dict[str, Object] = {}

    # Reports of writes.

    def remember(self, name: str) -> Object:
        """Record a Node before a write by Nodemend, and return it."""
        self._before[name] = self._world.admin_api.get(NODE, name) or {}
        return self._before[name]

    def saw_node(self, name: str, request: Request, answer: ApiResponse) -> tuple[Object, Object]:
        """Record a write of a Node by Nodemend. Returns the Node before and after; empty after a deletion."""
        before = self._before.get(name, {})
        if request.method is Method.DELETE:
            self._deleted_by_us.add(name)
            return before, {}
        after = msgspec.json.decode(answer.body)
        if any(map(is_ours, [*taints_of(before), *taints_of(after)])):
            self._tainted_by_us[name] = self._world.scheduler.now
        if not any(map(is_ours, taints_of(after))):
            # The restored taint is removed; Kubernetes may observe that slightly later.
            self._world.scheduler.after(KNOWN_LATE, lambda: self._brought_back.discard(name))
        return before, after

    def restored(self) -> None:
        """Handle a restore of etcd: some writes never happened, and running processes may have no pod."""
        self._deleted_by_us.clear()
        api = self._world.admin_api
        bound = {(one["metadata"]["uid"], one["spec"].get("nodeName")) for one in api.list(POD)}
        for machine in self._world.machines.values():
            self._excused |= {uid for uid in machine.running if (uid, machine.name) not in bound}
        for node in api.list(NODE):
            name = node["metadata"]["name"]
            if any(map(is_ours, taints_of(node))):
                self._brought_back.add(name)
            else:
                self._tainted_by_us.pop(name, None)

    # I1

    def started(self, machine: Machine, workload: str) -> None:
        others = [
            other.name
            for other in self._world.machines.values()
            if other is not machine and workload in self.running(other).values()
        ]
        if others:
            raise InvariantBrokenError(f"I1: {workload} starts on {machine.name} while {others} run it")

    def removed(self, pod: Object) -> None:
        """Check I1: a pod whose forced removal Nodemend caused runs nowhere."""
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        if pod["metadata"]["uid"] not in self._world.machines[node].running or node in self.byzantine_peers:
            return
        if self._released_by_us(node):
            raise InvariantBrokenError(f"I1: {name} is removed by force while {node} runs it")
        self._world.scheduler.note(f"{name} is removed from {node}, which runs it, and not by us")
        self._excused.add(pod["metadata"]["uid"])

    def running(self, machine: Machine) -> dict[str, str]:
        """Return the workloads that the machine runs and that must run nowhere else."""
        if machine.name in self.byzantine_peers:
            return {}
        return {uid: who for uid, who in machine.running.items() if uid not in self._excused}

    def _released_by_us(self, node: str) -> bool:
        if self._world.admin_api.get(NODE, node) is None and node in self._deleted_by_us:
            return True
        since = self._tainted_by_us.get(node)
        if node in self._brought_back:
            return False
        return since is not None and self._world.scheduler.now - since < KNOWN_LATE


def taints_of(node: Object) -> list[Object]:
    return list((node.get("spec") or {}).get("taints") or ())


def node_in(request: Request) -> str:
    """Return the name of the Node in a request's path."""
    return request.path.removeprefix(NODES).partition("/")[0]
