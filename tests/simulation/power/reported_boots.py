"""Which boots each node has told of, and when."""

from collections import defaultdict
from typing import Any

import msgspec

from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.testing.cluster.world import World

NODES = "/api/v1/nodes/"


class ReportedBoots:
    """Hears what machines write about their Nodes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._told: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        for name, machine in world.machines.items():
            self._told[name].append((world.scheduler.now, machine.boot_id))
        world.admin.witnesses.append(self._heard)

    def within(self, node: str, seconds: float) -> set[str]:
        """Those that it told of at some moment of so many seconds before now."""
        since, told = self._world.scheduler.now - seconds, self._told[node]
        before = [boot for when, boot in told if when <= since][-1:]
        return {*before, *(boot for when, boot in told if when > since)}

    def _heard(self, _user: str, request: Request, answer: Answer) -> None:
        if not request.path.startswith(NODES) or not request.path.endswith("/status"):
            return
        self.note(msgspec.json.decode(answer.body))

    def note(self, node: dict[str, Any]) -> None:
        """What its Node shows now."""
        boot = (node.get("status") or {}).get("nodeInfo", {}).get("bootID", "")
        told = self._told[node["metadata"]["name"]]
        if told[-1][1] != boot:
            told.append((self._world.scheduler.now, boot))
