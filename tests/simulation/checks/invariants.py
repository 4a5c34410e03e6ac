"""Invariants of every simulated run of the checks, verified at every write.

The numbers are those of SAFETY.md.
"""

from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.network import Fate
from tests.simulation.checks.recoveries import RecoveryInvariants
from tests.simulation.checks.world import CHECK, FOREIGN, MACHINE, SPACE, ChecksWorld
from tests.simulation.convergence import InvariantBrokenError

READ_WITHIN: Final = 15.0
LATEST_ARRIVAL: Final = 61.0
PASSED: Final = "True"


class Invariants:
    """Observes every write in a world."""

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
        """Record the policy. Call it after every change of the policy, because I5 depends on its history."""
        policy = self._world.api.get(REMEDIATION_POLICY, well_known.POLICY_NAME)
        spec = policy["spec"] if policy else {}
        self._allowed.append((self._world.scheduler.now, spec.get("mode") == "Act" and "pause" not in spec))

    def _saw_write(self, _user: str, request: Request, answer: ApiResponse) -> None:
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
        """Check I3: a deletion or a change of a Cluster API object names the object and its version."""
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
        """Return the time of OwnerRemediated in this write, or None if the machine passes its check."""
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
        """Return the number of writes that may have been applied after their sender gave up.

        The checker cannot count these.
        """
        return sum(
            replica.faults.get(fate, 0)
            for replica in self._world.replicas
            for fate in (Fate.LATE, Fate.REPLY_LOST, Fate.RESET)
        )

    def _was_allowed(self, name: str) -> None:
        """Check I5: the policy allowed it when it was last read, which is before the write was sent."""
        oldest = self._world.scheduler.now - READ_WITHIN - LATEST_ARRIVAL
        before = [allowed for when, allowed in self._allowed if when <= oldest][-1:]
        since = [allowed for when, allowed in self._allowed if when > oldest]
        if not any((*before, *since)):
            raise InvariantBrokenError(f"I5: {name} was begun with while that was not allowed")

    def settled(self) -> None:
        """Check I8 and I14, long after the faults: all nodes are healthy; Nodemend left nothing behind."""
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
