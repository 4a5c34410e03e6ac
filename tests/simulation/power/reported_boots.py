"""Boots that each node has reported, with times."""

from collections import defaultdict
from typing import Any

import msgspec

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.cluster.world import World

NODES = "/api/v1/nodes/"


class ReportedBoots:
    """Observes the writes of machines to their Nodes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reported: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        for name, machine in world.machines.items():
            self._reported[name].append((world.scheduler.now, machine.boot_id))
        world.admin.witnesses.append(self._heard)

    def within(self, node: str, seconds: float) -> set[str]:
        """Return the boots that the node reported at some moment of the last `seconds`."""
        since, reported = self._world.scheduler.now - seconds, self._reported[node]
        before = [boot for when, boot in reported if when <= since][-1:]
        return {*before, *(boot for when, boot in reported if when > since)}

    def _heard(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if not request.path.startswith(NODES) or not request.path.endswith("/status"):
            return
        self.note(msgspec.json.decode(answer.body))

    def note(self, node: dict[str, Any]) -> None:
        """Record the boot that the Node shows now."""
        boot = (node.get("status") or {}).get("nodeInfo", {}).get("bootID", "")
        reported = self._reported[node["metadata"]["name"]]
        if reported[-1][1] != boot:
            reported.append((self._world.scheduler.now, boot))
