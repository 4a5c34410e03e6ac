"""Which nodes are the control plane, and which of them are Ready. Kept as nodes come and go."""

from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.guard_facts import ControlPlane
from nodemend.kube.node_record import NodeRecord

ROLE_LABELS: Final = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/etcd",
)


class ControlPlaneRoll:
    """Members by name, with whether they are Ready."""

    def __init__(self) -> None:
        self._ready: dict[str, bool] = {}

    def observe(self, node: NodeRecord) -> None:
        if any(label in node.label_keys for label in ROLE_LABELS):
            ready = node.condition("Ready")
            self._ready[node.name] = ready is not None and ready.status == ConditionStatus.TRUE
        else:
            self._ready.pop(node.name, None)

    def forget(self, node: str) -> None:
        self._ready.pop(node, None)

    def around(self, node: str, under_remediation: frozenset[str]) -> ControlPlane | None:
        """What the guard asks about a member; None for a node that is none."""
        if node not in self._ready:
            return None
        others = {name: ready for name, ready in self._ready.items() if name != node}
        busy = sorted(under_remediation & others.keys())
        return ControlPlane(len(self._ready), sum(others.values()), busy[0] if busy else "")
