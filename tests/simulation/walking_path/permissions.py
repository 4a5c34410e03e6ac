"""Directed seeds: nothing begins and nothing is released while the policy does not permit it."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import REMEDIATION_POLICY
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from tests.simulation.walking_path.directed import BEGUN_WITHIN, SICK, Directed

LONG: Final = 100.0
"""Seconds. Longer than any write may rest on an earlier read of the policy."""
BLIND: Final = (Method.GET, well_known.KUBELET_LEASE_NAMESPACE)
"""The right to read the Leases of kubelets. Without it, no release can be decided."""


class PermissionWithdrawn(Directed):
    """The policy stops permitting remediation: it is set to DryRun, deleted, or paused.

    This happens before the node fails, while its remediation waits for the confirmation, or between the
    recorded evidence and the release, which is delayed because the kubelet's Lease cannot be read. In some
    seeds the API server's cache of policies still permits it.
    """

    family: ClassVar[str] = "PermissionWithdrawn"

    def play(self) -> None:
        self.run(self.chance.uniform(25.0, 40.0))
        self.chance.choice((self._before_it_fails, self._before_the_word))()
        self._go_blind_with_evidence()
        self.resume()
        self.begins()
        if "confirmation" not in (self.remediation or {})["spec"]:
            self.confirm(self.statement())
        self.until(lambda: bool(self.status.get("evidence")), 30.0, f"I14: no evidence about {SICK}")
        self._withdraw()
        self.run(LONG)
        self.world.remediator.forbidden.discard(BLIND)
        self.run(self.chance.uniform(20.0, 40.0))
        self.resume()
        self.released_in_time()

    def _withdraw(self) -> None:
        chance, server = self.chance, self.world.server
        if chance.random() < 0.3:
            self.tell("a stale cache of policies")
            server.lag(REMEDIATION_POLICY, server.revision)
        way = chance.choice(("dry run", "no policy", "paused"))
        self.tell(way)
        match way:
            case "dry run":
                self.set_policy({"mode": "DryRun"})
            case "no policy":
                self.set_policy(None)
            case _:
                self.pause()

    def _before_it_fails(self) -> None:
        self._withdraw()
        self.run(self.chance.uniform(0.0, 40.0))
        self.lose_power()
        self.run(BEGUN_WITHIN + 30.0)
        self.world.server.lag(REMEDIATION_POLICY, None)

    def _before_the_word(self) -> None:
        self.lose_power()
        self.begins()
        self._withdraw()
        self.run(LONG)
        self.confirm(self.statement())
        self.run(self.chance.uniform(20.0, 40.0))
        self.world.server.lag(REMEDIATION_POLICY, None)

    def _go_blind_with_evidence(self) -> None:
        """Withdraw the right when evidence is recorded."""
        remediator = self.world.remediator
        blinded: list[float] = []

        def saw(_user: str, request: Request, _answer: ApiResponse) -> None:
            if b'"evidence":{' in request.body and not blinded:
                blinded.append(self.world.scheduler.now)
                remediator.forbidden.add(BLIND)

        remediator.witnesses.append(saw)
