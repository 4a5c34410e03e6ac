"""What the API server shows of a cluster, read once for all who look."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from controlplane.api import Api, Object
from nodemend.api import keys
from tests.agent_room.room import LEASES, annotations_of

SELF_REMEDIATIONS: Final = f"/apis/nodemend.io/v1alpha1/namespaces/{keys.SYSTEM_NAMESPACE}/selfremediations"
WORKLOADS: Final = "/api/v1/namespaces/default/pods"

ByName = dict[str, Object]


@dataclass(frozen=True, slots=True)
class View:
    """All by their names."""

    nodes: ByName = field(default_factory=dict)
    leases: ByName = field(default_factory=dict)
    remediations: ByName = field(default_factory=dict)
    pods: ByName = field(default_factory=dict)

    def report(self, node: str) -> dict[str, Any]:
        """What its agent says of itself; empty before it does."""
        text = annotations_of(self.leases.get(node)).get(keys.AGENT_REPORT)
        return json.loads(text) if text else {}

    def peers(self, node: str) -> list[str]:
        """By which it goes; empty while it changes them."""
        lists = self.report(node).get("peers", [])
        return list(lists[0]) if len(lists) == 1 else []

    def marked(self, node: str) -> bool:
        return keys.MARKER in annotations_of(self.leases.get(node))

    def status(self, node: str) -> dict[str, Any]:
        """Of its remediation."""
        status: dict[str, Any] = self.remediations.get(node, {}).get("status", {})
        return status

    def phase(self, node: str) -> str:
        return str(self.status(node).get("phase", ""))

    def held_as(self, node: str) -> str:
        """Why its remediation waits."""
        conditions = self.status(node).get("conditions", ())
        return next((str(one["reason"]) for one in conditions if one["type"] == "Processing"), "")

    def tainted(self, node: str) -> bool:
        taints = self.nodes.get(node, {}).get("spec", {}).get("taints", ())
        ours = (keys.OUT_OF_SERVICE, keys.OUR_TAINT_VALUE)
        return any((taint["key"], taint.get("value")) == ours for taint in taints)


def look(api: Api) -> View:
    return View(
        nodes=_by_name(api.list("/api/v1/nodes")),
        leases=_by_name(api.list(LEASES)),
        remediations=_by_name(api.list(SELF_REMEDIATIONS)),
        pods=_by_name(api.list(WORKLOADS)),
    )


def _by_name(objects: list[Object]) -> ByName:
    return {one["metadata"]["name"]: one for one in objects}
