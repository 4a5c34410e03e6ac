"""The cluster's state in the API server, read once for all users."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from controlplane.api import Api, Object
from nodemend.api import well_known
from tests.e2e.agent_nodes.agent_node import LEASES, annotations_of

SELF_REMEDIATIONS: Final = (
    f"/apis/nodemend.io/v1alpha1/namespaces/{well_known.SYSTEM_NAMESPACE}/selfremediations"
)
WORKLOADS: Final = "/api/v1/namespaces/default/pods"

ByName = dict[str, Object]


@dataclass(frozen=True, slots=True)
class View:
    """Objects by name."""

    nodes: ByName = field(default_factory=dict)
    leases: ByName = field(default_factory=dict)
    remediations: ByName = field(default_factory=dict)
    pods: ByName = field(default_factory=dict)

    def report(self, node: str) -> dict[str, Any]:
        """The last report of its agent; empty before the first."""
        text = annotations_of(self.leases.get(node)).get(well_known.AGENT_REPORT)
        return json.loads(text) if text else {}

    def peers(self, node: str) -> list[str]:
        """The peers that it uses; empty during a change of them."""
        lists = self.report(node).get("peers", [])
        return list(lists[0]) if len(lists) == 1 else []

    def marked(self, node: str) -> bool:
        return well_known.MARKER in annotations_of(self.leases.get(node))

    def status(self, node: str) -> dict[str, Any]:
        """The status of its remediation."""
        status: dict[str, Any] = self.remediations.get(node, {}).get("status", {})
        return status

    def phase(self, node: str) -> str:
        return str(self.status(node).get("phase", ""))

    def held_as(self, node: str) -> str:
        """The reason why its remediation waits."""
        conditions = self.status(node).get("conditions", ())
        return next((str(one["reason"]) for one in conditions if one["type"] == "Processing"), "")

    def tainted(self, node: str) -> bool:
        taints = self.nodes.get(node, {}).get("spec", {}).get("taints", ())
        ours = (well_known.OUT_OF_SERVICE, well_known.OUR_TAINT_VALUE)
        return any((taint["key"], taint.get("value")) == ours for taint in taints)


def read(api: Api) -> View:
    return View(
        nodes=_by_name(api.list("/api/v1/nodes")),
        leases=_by_name(api.list(LEASES)),
        remediations=_by_name(api.list(SELF_REMEDIATIONS)),
        pods=_by_name(api.list(WORKLOADS)),
    )


def _by_name(objects: list[Object]) -> ByName:
    return {one["metadata"]["name"]: one for one in objects}
