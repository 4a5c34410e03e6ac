"""Directed seeds: nothing begins and nothing is released while the policy does not permit it."""

from typing import ClassVar, Final

from nodemend.api.resources import REMEDIATION_POLICY
from nodemend.kube.request import Method
from tests.simulation.hostile.policies import KINDS, PROOF_COUNTS
from tests.simulation.walking_path.directed import BEGUN_WITHIN, Directed

LONG: Final = 100.0
"""Seconds. Longer than any write may rest on an earlier read of the policy."""


class PermissionWithdrawn(Directed):
    """The policy stops permitting remediation: it is set to DryRun, deleted, or paused.

    This happens before the node fails, while its remediation waits for the confirmation, or between the
    recorded evidence and the release, which is delayed because the kubelet's Lease cannot be read. In some
    seeds the API server's cache of policies still permits it.
    """

    family: ClassVar[str] = "PermissionWithdrawn"

    def play(self) -> None:
        self.run(self.chance.uniform(25.0, 40.0))
        self.chance.choice((self._before_it_fails, self._before_the_confirmation))()
        self.on_evidence(self.blind)
        self.allow()
        self.begins()
        if "confirmation" not in (self.remediation or {})["spec"]:
            self.confirm(self.statement())
        self.has_evidence()
        self._withdraw()
        self.run(LONG)
        self.see_again()
        self.run(self.chance.uniform(20.0, 40.0))
        self.allow()
        self.released_in_time()

    def _withdraw(self) -> None:
        chance, server = self.chance, self.world.server
        if chance.random() < 0.3:
            self.tell("a stale cache of policies")
            server.lag(REMEDIATION_POLICY, server.revision)
        self.forbid()

    def _before_it_fails(self) -> None:
        self._withdraw()
        self.run(self.chance.uniform(0.0, 40.0))
        self.lose_power()
        self.run(BEGUN_WITHIN + 30.0)
        self.world.server.lag(REMEDIATION_POLICY, None)

    def _before_the_confirmation(self) -> None:
        self.lose_power()
        self.begins()
        self._withdraw()
        self.run(LONG)
        self.confirm(self.statement())
        self.run(self.chance.uniform(20.0, 40.0))
        self.world.server.lag(REMEDIATION_POLICY, None)


class PolicyUnbound(Directed):
    """The binding of an admission policy is deleted, before or while the node fails.

    In some seeds the programs cannot read policies any longer, once they have found it missing. Nothing may
    begin, although the last proof is recent. The policy is one that the programs only read, not try.
    """

    family: ClassVar[str] = "PolicyUnbound"
    proven: ClassVar[bool] = True

    def play(self) -> None:
        chance, duty = self.chance, self.policies.duties["checker"]
        self.run(chance.uniform(25.0, 40.0))
        tried = {attempt.policy for attempt in duty.attempts}
        policy = chance.choice([name for name in duty.policies if name not in tried])
        self.tell(f"{policy} has no binding")
        self.policies.unbind(policy)
        if chance.random() < 0.5:
            self._fails_during_an_outage(policy)
        else:
            self.run(PROOF_COUNTS)
            self.lose_power()
        self.run(BEGUN_WITHIN)

    def _fails_during_an_outage(self, policy: str) -> None:
        by = self.world.scheduler.now + PROOF_COUNTS
        while not self.policies.is_found(policy) and self.world.scheduler.now < by:
            self.run(1.0)
        self.tell("no right to read policies")
        for kind in KINDS.values():
            self.world.checker.forbidden.add((Method.GET, kind.plural))
        self.lose_power()
