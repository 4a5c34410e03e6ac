"""Which nodes are the control plane, and which of them are Ready. Kept as nodes and etcd Pods come and go."""

from collections.abc import Callable

from nodemend.api.conditions import ConditionStatus
from nodemend.api.keys import CONTROL_PLANE_ROLES
from nodemend.decide.guard_facts import ControlPlane
from nodemend.kube.node_record import NodeRecord


class ControlPlaneRoll:
    """Members by name, with whether they are Ready. A label makes one, and so does a static etcd Pod."""

    def __init__(self) -> None:
        self._ready: dict[str, bool] = {}
        self._labelled: set[str] = set()
        self._hosts: frozenset[str] = frozenset()
        self._silent_hosts: set[str] = set()
        """Whose Pod went while they were not Ready: only a kubelet that speaks can say that etcd is gone."""

    def observe(self, node: NodeRecord) -> None:
        if CONTROL_PLANE_ROLES.isdisjoint(node.label_keys):
            self._labelled.discard(node.name)
        else:
            self._labelled.add(node.name)
        ready = _is_ready(node)
        if ready:
            self._silent_hosts.discard(node.name)
        self._enter(node.name, ready=ready)

    def forget(self, node: str) -> None:
        self._labelled.discard(node)
        self._silent_hosts.discard(node)
        self._enter(node, ready=False)

    def note_etcd(self, hosts: frozenset[str], find: Callable[[str], NodeRecord | None]) -> None:
        """`hosts` are all nodes that have a static etcd Pod now; `find` gives a node as it is."""
        gone, come = self._hosts - hosts, hosts - self._hosts
        self._hosts = hosts
        for name in gone | come:
            node = find(name)
            ready = node is not None and _is_ready(node)
            if name in gone and node is not None and not ready:
                self._silent_hosts.add(name)
            self._enter(name, ready=ready)

    def has(self, node: str) -> bool:
        return node in self._ready

    def around(self, node: str, under_remediation: frozenset[str]) -> ControlPlane | None:
        """What the guard asks about a member; None for a node that is none."""
        if node not in self._ready:
            return None
        busy = sorted((under_remediation & self._ready.keys()) - {node})
        named = busy[0] if busy else ""
        # A kubelet can make a Pod that looks like etcd's, and cannot give its Node the label. So members by
        # Pod alone must not make up a majority for one with the label: the lesser of both counts.
        sets = [set(self._ready)] + ([self._labelled & self._ready.keys()] if node in self._labelled else [])
        around = [
            ControlPlane(len(members), sum(self._ready[name] for name in members - {node}), named)
            for members in sets
        ]
        return min(around, key=lambda one: 2 * one.others_ready - one.total)

    def _enter(self, name: str, *, ready: bool) -> None:
        if name in self._labelled or name in self._hosts or name in self._silent_hosts:
            self._ready[name] = ready
        else:
            self._ready.pop(name, None)


def _is_ready(node: NodeRecord) -> bool:
    ready = node.condition("Ready")
    return ready is not None and ready.status == ConditionStatus.TRUE
