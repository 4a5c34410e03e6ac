"""Whether a pod that was removed by force was removed because of us, or because of another.

Pods are removed by force under anybody's out-of-service taint, and when anybody deleted a Node. What follows
from another's taint or deletion is that one's fault: it is excused here, and nothing else is.
"""

from typing import Any, Final

import msgspec

from nodemend.api.group_versions import NODE, POD
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Method, Request
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.cluster.world import World
from tests.simulation.settling import InvariantBrokenError
from tests.simulation.walking_path.invariants import is_ours

Object = dict[str, Any]
NODES: Final = "/api/v1/nodes/"
KNOWN_LATE: Final = 60.0
"""Seconds for which Kubernetes may act on a taint that is off again: it may be late to know of Nodes."""


class Attribution:
    """Of one world, whose writes it has to be told of."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.liars: set[str] = set()
        """Nodes that lie about themselves: they can harm their own workloads alone."""
        self._excused: set[str] = set()
        self._tainted_by_us: dict[str, float] = {}
        self._deleted_by_us: set[str] = set()
        self._brought_back: set[str] = set()
        """Nodes that had our taint in a backup: Kubernetes acts on it before we can take it off."""
        self._before: dict[str, Object] = {}

    # To be told of.

    def remember(self, name: str) -> Object:
        """A Node is about to be written by us: what there was before."""
        self._before[name] = self._world.admin_api.get(NODE, name) or {}
        return self._before[name]

    def saw_node(self, name: str, request: Request, answer: Answer) -> tuple[Object, Object]:
        """A Node was written by us: what there was before and after; nothing after a deletion."""
        before = self._before.get(name, {})
        if request.method is Method.DELETE:
            self._deleted_by_us.add(name)
            return before, {}
        after = msgspec.json.decode(answer.body)
        if any(map(is_ours, [*taints_of(before), *taints_of(after)])):
            self._tainted_by_us[name] = self._world.scheduler.now
        if not any(map(is_ours, taints_of(after))):
            # A taint out of a backup is off; Kubernetes may know so a little later.
            self._world.scheduler.after(KNOWN_LATE, lambda: self._brought_back.discard(name))
        return before, after

    def restored(self) -> None:
        """etcd went back: some of what was done was never done, and what runs may have no pod."""
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
        """What is removed by force runs nowhere, where we are why it is."""
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        if pod["metadata"]["uid"] not in self._world.machines[node].running or node in self.liars:
            return
        if self._released_by_us(node):
            raise InvariantBrokenError(f"I1: {name} is removed by force while {node} runs it")
        self._world.scheduler.note(f"{name} is removed from {node}, which runs it, and not by us")
        self._excused.add(pod["metadata"]["uid"])

    def running(self, machine: Machine) -> dict[str, str]:
        """What it runs and has to run nowhere else."""
        if machine.name in self.liars:
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
    """The name of the Node that a request is about."""
    return request.path.removeprefix(NODES).partition("/")[0]
