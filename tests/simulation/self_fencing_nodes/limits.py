"""Directed seeds: the policy forbids what a remediation is about to do, or Kubernetes is slow."""

from typing import Any, ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import (
    LEASE,
    NODE_HEALTH_CHECK,
    POD,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
    VOLUME_ATTACHMENT,
)
from simulation.cluster.world import CHECK
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.self_fencing_nodes.directed import SICK, WATCHED_FOR, Directed
from tests.simulation.self_fencing_nodes.invariants import KNOWN_WITHIN

NOT_READY: Final = 75.0
"""Seconds after which a remediator has seen for long enough that an isolated Node is not Ready."""
AWAY: Final = 30.0
INTERVAL: Final = 100.0
"""Seconds between two starts, in a policy."""


def ask(directed: Directed, name: str) -> None:
    """Let a user request the remediation of a node."""
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {}}
    directed.cluster.api.create(SELF_REMEDIATION, body, well_known.SYSTEM_NAMESPACE)


class PolicyWithdrawn(Directed):
    """The policy is deleted, or allows no actions, as a remediation begins, or after its evidence.

    Managers are paused at that moment. Another one may lead afterwards.
    """

    family: ClassVar[str] = "PolicyWithdrawn"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        begins = chance.random() < 0.5
        cluster.counts["fault: no policy " + ("as it begins" if begins else "after the evidence")] += 1
        if begins:
            cluster.invariants.on_begun = lambda _name: self._withdraw()
            cluster.complain(SICK)
        else:
            cluster.invariants.on_evidence = lambda _name: self._withdraw()
            self.hang()
        cluster.run(WATCHED_FOR - 40.0)

    def _withdraw(self) -> None:
        cluster, chance = self.cluster, self.chance
        invariants = cluster.invariants
        if invariants.stopped_at is not None:
            return
        invariants.stopped_at = cluster.scheduler.now
        if chance.random() < 0.5:
            cluster.api.delete(REMEDIATION_POLICY, well_known.POLICY_NAME)
        else:
            cluster.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"mode": "DryRun"}})
        for replica in cluster.remediators:
            replica.process.pause(KNOWN_WITHIN + chance.uniform(0.0, 5.0))


class TwoAtOnce(Directed):
    """A user requests two remediations at the same moment, and the policy allows one.

    One at a time, or one in a while.
    """

    family: ClassVar[str] = "TwoAtOnce"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        slowly = chance.random() < 0.5
        limit = {"minInterval": f"{INTERVAL:.0f}s"} if slowly else {"maxConcurrentPercent": 20}
        cluster.counts[f"fault: two at once, {'minInterval' if slowly else 'maxConcurrentPercent'}"] += 1
        cluster.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": limit})
        cluster.api.delete(NODE_HEALTH_CHECK, CHECK)
        self._marked: dict[str, float] = {}
        cluster.invariants.on_marked = self._saw_marker
        both = (SICK, chance.choice(self.peers))
        for name in both:
            cluster.nodes[name].kubelet_apart = False
            cluster.isolate(name)
        cluster.run(NOT_READY)
        for name in both:
            ask(self, name)
        cluster.run(WATCHED_FOR - 40.0)

    def _saw_marker(self, name: str) -> None:
        """Check I5: no release is possible for 72 s after a marker, since these nodes do not come back."""
        now = self.cluster.scheduler.now
        early = [other for other, at in self._marked.items() if other != name and now - at < 70.0]
        if early:
            raise InvariantBrokenError(f"I5: {name} is marked although {early[0]} was just before")
        self._marked.setdefault(name, now)


class SlowEviction(Directed):
    """Kubernetes' controllers are slow to remove the pods of a released node; volumes are detached already.

    In some seeds, the API server's caches of Leases and Pods are frozen from the marker on.
    """

    family: ClassVar[str] = "SlowEviction"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        cluster.invariants.on_evidence = lambda _name: self._detach()
        self.mark()
        if chance.random() < 0.5:
            cluster.counts["fault: stale caches"] += 1
            for resource in (LEASE, POD):
                cluster.world.server.lag(resource, cluster.world.server.revision)
        cluster.run(WATCHED_FOR + AWAY)
        left = [one for one in cluster.api.list(POD) if one["spec"].get("nodeName") == SICK]
        if left or cluster.invariants.is_tainted(SICK):
            raise InvariantBrokenError(f"I13: the release of {SICK} does not end, {len(left)} pods are left")

    def _detach(self) -> None:
        cluster, engine = self.cluster, self.cluster.world.engine
        self.slow_controllers()
        cluster.scheduler.after(AWAY, lambda: setattr(engine, "away", False))
        for one in cluster.api.list(VOLUME_ATTACHMENT):
            if one["spec"]["nodeName"] == SICK:
                cluster.api.delete(VOLUME_ATTACHMENT, one["metadata"]["name"])
