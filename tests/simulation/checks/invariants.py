"""What must hold in every simulated run of the checks, watched at every write.

The numbers are those of SAFETY.md.
"""

from typing import Any, Final

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Method, Request
from nodemend.testing.network import Fate
from tests.simulation.checks.recoveries import RecoveryInvariants
from tests.simulation.checks.world import CHECK, FOREIGN, MACHINE, SPACE, ChecksWorld
from tests.simulation.settling import InvariantBrokenError

READ_WITHIN: Final = 15.0
LATEST_ARRIVAL: Final = 61.0
PASSED: Final = "True"


class Invariants:
    """Stands beside a world and sees everything."""

    def __init__(self, world: ChecksWorld, most: int) -> None:
        self.begun = 0
        self.withdrawn = 0
        self._world = world
        self._most = most
        self._allowed: list[tuple[float, bool]] = []
        self._recoveries = RecoveryInvariants(world)
        world.checker.witnesses.append(self._saw_write)
        self.note_policy()

    @property
    def recovered(self) -> int:
        return self._recoveries.begun

    def _must_hold(self, broken: str) -> None:
        if broken:
            raise InvariantBrokenError(broken)

    def note_policy(self) -> None:
        """To be told after every change of the policy: I5 asks what it said when."""
        policy = self._world.api.get(REMEDIATION_POLICY, keys.POLICY_NAME)
        spec = policy["spec"] if policy else {}
        self._allowed.append((self._world.scheduler.now, spec.get("mode") == "Act" and "pause" not in spec))

    def _saw_write(self, _user: str, request: Request, answer: Answer) -> None:
        self._has_preconditions(request)
        self._must_hold(self._recoveries.saw(request, answer, self._late_writes()))
        if request.method is Method.POST and request.path.endswith("/fixes"):
            self._saw_beginning(msgspec.json.decode(answer.body)["metadata"]["name"])
        elif (
            request.method is Method.PATCH
            and "/machines/" in request.path
            and request.path.endswith("/status")
        ):
            self._saw_marks(request, msgspec.json.decode(answer.body))
        elif request.method is Method.DELETE and "/fixes/" in request.path:
            self.withdrawn += 1

    def _has_preconditions(self, request: Request) -> None:
        """I3: whatever changes what is others', or deletes anything, names the object and its version."""
        if request.method is Method.DELETE:
            conditions = msgspec.json.decode(request.body).get("preconditions", {})
        elif request.method is Method.PATCH and "cluster.x-k8s.io" in request.path:
            conditions = msgspec.json.decode(request.body)["metadata"]
        else:
            return
        if not conditions.get("uid") or not conditions.get("resourceVersion"):
            raise InvariantBrokenError(f"I3: {request.method} {request.path} without preconditions")

    def _saw_marks(self, request: Request, machine: dict[str, Any]) -> None:
        marks = self._world.marks(machine)
        if marks.get("Booted") != FOREIGN:
            raise InvariantBrokenError(f"I8: {request.path} changed what is somebody else's")
        asked = marks.get("OwnerRemediated", {})
        fresh = asked.get("lastTransitionTime") == self._written_now(request)
        if asked.get("reason") == "WaitingForRemediation" and fresh:
            self._saw_beginning(machine["metadata"]["name"])

    def _written_now(self, request: Request) -> str | None:
        """When this write says that its OwnerRemediated began, if it begins with it."""
        conditions = msgspec.json.decode(request.body)["status"]["conditions"]
        marks = {one["type"]: one for one in conditions}
        failed = marks.get("HealthCheckSucceeded", {}).get("status") == "False"
        since: str | None = marks.get("OwnerRemediated", {}).get("lastTransitionTime")
        return since if failed else None

    def _saw_beginning(self, name: str) -> None:
        self.begun += 1
        fixes = [one["metadata"]["name"] for one in self._world.fixes()]
        asked = self._world.asked()
        if fixes.count(name) + asked.count(name) > 1:
            raise InvariantBrokenError(f"I4: {name} has two at work")
        self._was_allowed(name)
        strays = self._late_writes()
        open_ = len({*fixes, *asked})
        if open_ > self._most + strays:
            raise InvariantBrokenError(f"I5: {open_} are under remediation, {self._most} may be")
        others = [one for one in {*fixes, *asked} - {name} if one.startswith("control")]
        if name.startswith("control") and len(others) > strays:
            raise InvariantBrokenError(f"I6: {name} begins beside {others}")

    def _late_writes(self) -> int:
        """Writes that may have come to pass after their sender gave up: nobody could count those."""
        return sum(
            replica.faults.get(fate, 0)
            for replica in self._world.replicas
            for fate in (Fate.LATE, Fate.REPLY_LOST, Fate.RESET)
        )

    def _was_allowed(self, name: str) -> None:
        """I5: the policy allowed it when it was last read, which is before the write was sent."""
        oldest = self._world.scheduler.now - READ_WITHIN - LATEST_ARRIVAL
        before = [allowed for when, allowed in self._allowed if when <= oldest][-1:]
        since = [allowed for when, allowed in self._allowed if when > oldest]
        if not any((*before, *since)):
            raise InvariantBrokenError(f"I5: {name} was begun with while that was not allowed")

    def settled(self) -> None:
        """I8 and I14: faults have ceased long ago. Everything is well, and nothing of ours is left."""
        self._must_hold(self._recoveries.settled())
        if left := [one["metadata"]["name"] for one in self._world.fixes()]:
            raise InvariantBrokenError(f"I8: {left} not withdrawn")
        for name in self._world.machines:
            self._is_well(name)
        for pool in ("control", "fixed", "owned"):
            found = self._world.api.get(CHECK, pool, SPACE) or {}
            status, count = found.get("status", {}), len(self._world.names[pool])
            if (status.get("expectedMachines"), status.get("currentHealthy")) != (count, count):
                raise InvariantBrokenError(f"I14: {pool} says {status}")
        found = self._world.api.get(NODE_HEALTH_CHECK, "bare") or {}
        status = found.get("status", {})
        if status.get("healthy") != len(self._world.names["bare"]):
            raise InvariantBrokenError(f"I14: bare says {status}")

    def _is_well(self, name: str) -> None:
        machine = self._world.api.get(MACHINE, name, SPACE)
        if machine is None:
            raise InvariantBrokenError(f"I14: {name} is not there")
        marks = self._world.marks(machine)
        if "OwnerRemediated" in marks or "ExternallyRemediated" in marks:
            raise InvariantBrokenError(f"I8: {name} is still marked: {marks}")
        if marks.get("HealthCheckSucceeded", {}).get("status") != PASSED:
            raise InvariantBrokenError(f"I14: {name} is not told healthy: {marks}")
        if marks.get("Booted") != FOREIGN or machine["metadata"]["labels"].get("theirs") != "keep":
            raise InvariantBrokenError(f"I8: something of somebody else's is gone from {name}")
