"""The invariants of the checks under hostile faults, with counters."""

from collections import Counter

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.policies import CHECKER
from simulation.cluster.direct import Object
from simulation.network import Fate
from tests.simulation.checks.invariants import Invariants
from tests.simulation.checks.world import MACHINE, SPACE, ChecksWorld
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.hostile.fault_context import CANARY
from tests.simulation.hostile.policies import Policies

MAY_BE_UNDONE = 5
"""Starts and ends that a restore may have undone, each of which may be repeated."""


class HostileChecksInvariants(Invariants):
    def __init__(self, world: ChecksWorld, most: int, policies: Policies) -> None:
        self.checked: Counter[str] = Counter()
        self._policies = policies
        super().__init__(world, most)

    def restored(self) -> None:
        faults = self._world.replicas[0].faults
        faults[Fate.LATE] = faults.get(Fate.LATE, 0) + MAY_BE_UNDONE
        self._recoveries.forget()
        self._policies.restored()
        self.note_policy()
        for machine in self._world.api.list(MACHINE):
            self._ask_the_owner_again(machine)

    def saw_deletion(self, node: str) -> None:
        """Record a deletion by another operator."""
        self._recoveries.forget(node)

    def _ask_the_owner_again(self, machine: Object) -> None:
        """Repeat the request: an owner acts once per request, and a restore may have undone its action."""
        conditions = [
            {**one, "reason": "WaitingForRemediation"} if one["type"] == "OwnerRemediated" else one
            for one in machine.get("status", {}).get("conditions") or ()
        ]
        name, change = machine["metadata"]["name"], {"status": {"conditions": conditions}}
        self._world.api.patch(MACHINE, name, change, at=(SPACE, "status"))

    def saw_read(self, request: Request, _answer: ApiResponse) -> None:
        """Check I12: no program reads Secrets except permitted kubeconfigs, and none writes their content."""
        self.checked["I12"] += 1
        if CANARY.encode() in request.body or "/secrets/canary" in request.path:
            raise InvariantBrokenError(f"I12: {request.method} {request.path} tells what is in a Secret")

    def _saw_beginning(self, name: str) -> None:
        self.checked.update(("I4", "I5", "I6"))
        self._policies.may_begin(CHECKER, name)
        if name.startswith("far"):
            raise InvariantBrokenError(f"I5: {name} is begun with, and nobody here knows how its node is")
        super()._saw_beginning(name)

    def _has_preconditions(self, request: Request) -> None:
        self.checked["I3"] += 1
        super()._has_preconditions(request)

    def settled(self) -> None:
        self.checked.update(("I8", "I14"))
        super().settled()
