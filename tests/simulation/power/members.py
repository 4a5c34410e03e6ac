"""The control plane of a simulated cluster, and the limits for it."""

from collections import defaultdict
from typing import Any

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, NODE
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.cluster.world import World
from simulation.network import Fate
from tests.simulation.convergence import InvariantBrokenError

ROLE = "node-role.kubernetes.io/control-plane"
NODES = "/api/v1/nodes/"


class Members:
    """Control-plane nodes by label, and the times at which each became Ready or not."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ready: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
        nodes = world.admin_api.list(NODE)
        self._names = {one["metadata"]["name"] for one in nodes if ROLE in one["metadata"].get("labels", {})}
        for node in nodes:
            self.note(node)
        world.admin.witnesses.append(self._heard)

    def may_be_held(self, host: str, *, within: float) -> None:
        """Check I6: one node at a time, and only if a Ready majority was left at some recent moment."""
        if host not in self._names:
            return
        others = self._names - {host}
        held = [name for name in sorted(others) if self._is_held(name)]
        if len(held) > self._late_writes():
            raise InvariantBrokenError(f"I6: {host} is switched off beside {held}")
        ready = [name for name in sorted(others) if self._was_ready(name, within)]
        if len(ready) * 2 <= len(self._names):
            raise InvariantBrokenError(
                f"I6: {host} is switched off, and of the others only {ready} were Ready"
            )

    def _is_held(self, name: str) -> bool:
        host = self._world.admin_api.get(BARE_METAL_HOST, name, "default")
        annotations = host["metadata"].get("annotations", {}) if host else {}
        return any(key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) for key in annotations)

    def _late_writes(self) -> int:
        """Return the number of writes that may have been applied after their sender gave up.

        The remediator cannot count these.
        """
        fates = (Fate.LATE, Fate.REPLY_LOST, Fate.RESET)
        return sum(replica.faults.get(fate, 0) for replica in self._world.replicas for fate in fates)

    def _was_ready(self, name: str, within: float) -> bool:
        since, reported = self._world.scheduler.now - within, self._ready[name]
        before = [ready for when, ready in reported if when <= since][-1:]
        return any((*before, *(ready for when, ready in reported if when > since)))

    def _heard(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if request.path.startswith(NODES) and request.path.endswith("/status"):
            self.note(msgspec.json.decode(answer.body))

    def note(self, node: dict[str, Any]) -> None:
        conditions = node.get("status", {}).get("conditions", ())
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        self._ready[node["metadata"]["name"]].append((self._world.scheduler.now, ready))
