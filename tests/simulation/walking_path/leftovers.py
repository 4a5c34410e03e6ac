"""Directed seeds: something is left over from before, or another remediation is in the way."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, NODE
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from tests.simulation.walking_path.directed import SICK, Directed

OTHER: Final = "node-2"
ELSEWHERE: Final = "default"
BLIND_FOR: Final = 30.0


class LocksLeftOver(Directed):
    """Late writes leave two locks: of an earlier remediation of the node, and of one of a healthy node.

    They arrive when the next remediation of the node has just been created.
    """

    family: ClassVar[str] = "LocksLeftOver"

    def play(self) -> None:
        self.run(self.chance.uniform(25.0, 40.0))
        self.lose_power()

        def saw(_user: str, request: Request, _answer: ApiResponse) -> None:
            if request.method is Method.POST and request.path.endswith(MANUAL_REMEDIATION.plural):
                self._leave_lock(SICK)
                self._leave_lock(OTHER)

        self.world.checker.witnesses.append(saw)
        self.begins()
        self.confirm(self.statement())
        self.released_in_time()
        self.recovers()

    def _leave_lock(self, name: str) -> None:
        self.tell(f"a lock is left on {name}")
        api = self.world.admin_api
        uid = (api.get(NODE, name) or {})["metadata"]["uid"]
        holder = f"{MANUAL_REMEDIATION.kind} {well_known.SYSTEM_NAMESPACE}/{name}"
        metadata = {"name": f"node-{uid}", "annotations": {well_known.HOLDER: holder}}
        body = {"metadata": metadata, "spec": {"holderIdentity": "an-earlier-one"}}
        api.create(LEASE, body, well_known.SYSTEM_NAMESPACE)


class LockLost(Directed):
    """A user deletes the lock after the evidence, and a remediation in another namespace takes it."""

    family: ClassVar[str] = "LockLost"

    def play(self) -> None:
        api = self.world.admin_api
        self.run(self.chance.uniform(25.0, 40.0))
        self.lose_power()
        self.begins()
        self.tell("another remediation")
        api.create(
            MANUAL_REMEDIATION, {"metadata": {"name": SICK}, "spec": {"instructions": "go"}}, ELSEWHERE
        )
        self.run(self.chance.uniform(1.0, 10.0))
        self.on_evidence(self._lose)
        self.confirm(self.statement())
        self.has_evidence()
        self.run(BLIND_FOR)
        self.see_again()
        self.run(BLIND_FOR)
        api.delete(MANUAL_REMEDIATION, SICK, ELSEWHERE)
        self.released_in_time()
        self.recovers()

    def _lose(self) -> None:
        """Pass the lock on in one step, as the other one may be the first that finds it absent."""
        self.blind()
        self.tell("the lock is deleted, and taken by another")
        api, name = self.world.admin_api, f"node-{self.status['nodeUID']}"
        other = api.get(MANUAL_REMEDIATION, SICK, ELSEWHERE) or {}
        holder = f"{MANUAL_REMEDIATION.kind} {ELSEWHERE}/{SICK}"
        metadata = {"name": name, "annotations": {well_known.HOLDER: holder}}
        api.delete(LEASE, name, well_known.SYSTEM_NAMESPACE)
        body = {"metadata": metadata, "spec": {"holderIdentity": other["metadata"]["uid"]}}
        api.create(LEASE, body, well_known.SYSTEM_NAMESPACE)
