"""Recoveries in a simulated run: their controller, and their invariants.

No recovery is lost, repeated, or created beside a Fix.
"""

from collections import Counter, defaultdict

import msgspec

from nodemend.api.resources import NODE_HEALTH_CHECK
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.direct import Object
from tests.simulation.checks.world import SPACE, SWITCH_ON, ChecksWorld

FINALIZER = "fix.example.com/switching"
POLL_INTERVAL = 4.0


class Switcher:
    """Accepts a recovery, reports success after a while, and releases it when it is deleted."""

    def __init__(self, world: ChecksWorld) -> None:
        self._world = world
        self._chance = world.chance("switcher")

    def poll(self) -> None:
        for found in self._world.api.list(SWITCH_ON):
            metadata = found["metadata"]
            if "deletionTimestamp" in metadata:
                self._keep(found, [])
            elif self._chance.random() < 0.5:
                self._keep(found, [FINALIZER])
                status = {"conditions": [{"type": "Succeeded", "status": "True"}]}
                self._world.api.patch(SWITCH_ON, metadata["name"], {"status": status}, at=(SPACE, "status"))
        self._world.scheduler.after(POLL_INTERVAL, self.poll)

    def _keep(self, found: Object, finalizers: list[str]) -> None:
        change = {"metadata": {"finalizers": finalizers}}
        self._world.api.patch(SWITCH_ON, found["metadata"]["name"], change, at=(SPACE, ""))


class RecoveryInvariants:
    """Invariants of nodes without machines, whose check names a recovery.

    Methods return a description of the violation, or "". `strays` is the number of creations that may arrive
    after their sender gave up; the checker cannot count these.
    """

    def __init__(self, world: ChecksWorld) -> None:
        self.begun = 0
        self._world = world
        self._healed: Counter[str] = Counter()
        self._made: Counter[str] = Counter()
        self._given_up: Counter[str] = Counter()
        self._last: dict[str, str] = defaultdict(str)
        self._nodes_deleted: set[str] = set()

    def saw(self, request: Request, answer: ApiResponse, strays: int) -> str:
        kind = next((one for one in ("fixes", "switchons") if f"/{one}" in request.path), "")
        if not kind or request.method not in (Method.POST, Method.DELETE):
            return ""
        last = request.path.rpartition("/")[2]
        posted = request.method is Method.POST
        name = msgspec.json.decode(answer.body)["metadata"]["name"] if posted else last
        if not name.startswith("bare"):
            return ""
        self._last[name] = f"{request.method} {kind}"
        if kind == "fixes" and name in self._nodes_deleted:
            # The Fix was for the deleted Node, so its end makes no recovery pending for the next Node.
            self._nodes_deleted.discard(name)
            self._last.pop(name)
        return self._begins(name, kind, strays) if posted else self._ends(name, kind, answer)

    def _begins(self, name: str, kind: str, strays: int) -> str:
        fixes = {one["metadata"]["name"] for one in self._world.fixes()}
        recoveries = {one["metadata"]["name"] for one in self._world.api.list(SWITCH_ON)}
        if name in fixes & recoveries and not strays:
            return f"I4: {name} has a remediation and a recovery at work"
        if kind == "switchons":
            self.begun += 1
            self._made[name] += 1
            if self._made[name] > self._healed[name] + self._given_up[name] + strays:
                return f"I4: {name} was recovered {self._made[name]} times, and healed {self._healed[name]}"
        return ""

    def _ends(self, name: str, kind: str, answer: ApiResponse) -> str:
        if kind == "fixes":
            self._healed[name] += 1
            return ""
        # A recovery without a finalizer is deleted immediately. The answer is then not the object.
        said = msgspec.json.decode(answer.body).get("status", {})
        conditions = (said.get("conditions") or ()) if isinstance(said, dict) else ()
        self._given_up[name] += not any(one["status"] == "True" for one in conditions)
        return ""

    def forget(self, *names: str) -> None:
        """Forget these Nodes, or all.

        A recovery that was pending for a deleted Node is not pending for the next one.
        """
        in_progress = {one["metadata"]["name"] for one in self._world.fixes()}
        self._nodes_deleted = (self._nodes_deleted | set(names)) & in_progress
        for name in names or tuple(self._last):
            self._last.pop(name, None)

    def settled(self) -> str:
        """Check that no recovery is pending, active or lost: after every deleted Fix there was a recovery."""
        if left := [one["metadata"]["name"] for one in self._world.api.list(SWITCH_ON)]:
            return f"I8: the recoveries of {left} are not withdrawn"
        status = (self._world.api.get(NODE_HEALTH_CHECK, "bare") or {}).get("status", {})
        if status.get("recoveries"):
            return f"I14: {status['recoveries']} are owed"
        lost = [name for name, last in self._last.items() if last == "DELETE fixes"]
        return f"I14: the recoveries of {lost} are lost" if lost else ""
