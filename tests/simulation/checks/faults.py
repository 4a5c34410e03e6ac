"""Faults in a run of the checks: drawn from its seed, counted when they happen."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.kube.request import Request
from simulation.cluster.replicas import Replica
from simulation.network import GOOD_LINK, CrashPoint, LinkQuality, worse
from tests.simulation.checks.world import CHECK, FIX, MACHINE, SPACE, SWITCH_ON, ChecksWorld

FAULTS_CEASE: Final = 400.0
"""Simulated seconds after which no fault starts."""

LENIENT: Final = {
    "maxUnhealthy": "100%",
    "settleTime": "5s",
    "minInterval": "1s",
    "maxConcurrent": 4,
    "maxConcurrentPercent": 100,
}
STRICT: Final = {
    "maxUnhealthy": "30%",
    "settleTime": "30s",
    "minInterval": "5s",
    "maxConcurrent": 2,
    "maxConcurrentPercent": 100,
}


SQUALL: Final = (10.0, 60.0)
LULL: Final = (40.0, 120.0)
"""Seconds. The guard trusts its cache after 20 without a failed read, so a LULL permits remediations."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    quality: LinkQuality
    steady: bool
    """True if links are always this bad. Otherwise bad and good periods (SQUALL and LULL) alternate."""
    crash_every: int
    node_faults: int
    policy: Mapping[str, Any]

    @classmethod
    def draw(cls, chance: random.Random) -> "FaultRates":
        losses = chance.choice((0.0, 0.002, 0.01, 0.1))
        slow = chance.choice((0.02, 0.02, 0.5))
        quality = replace(worse(GOOD_LINK, losses), delay=(0.001, slow))
        steady = chance.random() < 0.3
        policy = STRICT if chance.random() < 0.4 else LENIENT
        return cls(quality, steady, chance.choice((0, 5, 12, 30)), chance.randint(6, 16), policy)


class Faults:
    """Injects the faults."""

    def __init__(
        self, world: ChecksWorld, fault_rates: FaultRates, policy_changed: Callable[[], None]
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._fault_rates = fault_rates
        self._policy_changed = policy_changed
        self._chance = world.chance("faults")

    def plan(self) -> None:
        for replica in self._world.replicas:
            replica.clock.rate = self._chance.uniform(0.999, 1.001)
            replica.on_start = self._arm
            self._arm(replica)
        if not self._fault_rates.steady:
            self._lull()
        for _ in range(self._fault_rates.node_faults):
            self._at_some_time(lambda: self._break(self._chance.choice(self._world.nodes)))
        if self._chance.random() < 0.3:
            self._at_some_time(self._storm)
        for _ in range(self._chance.randint(0, 6)):
            self._at_some_time(self._disturb)
        self._world.scheduler.at(FAULTS_CEASE, self._cease)

    def _at_some_time(self, fault: Callable[[], None]) -> None:
        self._world.scheduler.at(self._chance.uniform(20.0, FAULTS_CEASE - 100.0), fault)

    def _squall(self) -> None:
        if self._world.scheduler.now < FAULTS_CEASE:
            self._set_quality(self._fault_rates.quality)
            self._world.scheduler.after(self._chance.uniform(*SQUALL), self._lull)

    def _lull(self) -> None:
        self._set_quality(replace(GOOD_LINK, delay=self._fault_rates.quality.delay))
        self._world.scheduler.after(self._chance.uniform(*LULL), self._squall)

    def _set_quality(self, quality: LinkQuality) -> None:
        for replica in self._world.replicas:
            replica.quality = replica.link.quality = quality

    def _arm(self, replica: Replica) -> None:
        """Crash at one in `crash_every` writes, at one of three points.

        Renewals of the Lease are frequent, so they crash ten times less often.
        """
        every = self._fault_rates.crash_every
        if not every or self._world.scheduler.now >= FAULTS_CEASE:
            return

        def plan(request: Request) -> CrashPoint | None:
            share = 1 / every if "/leases" not in request.path else 1 / (10 * every)
            if self._world.scheduler.now >= FAULTS_CEASE or self._chance.random() >= share:
                return None
            point = self._chance.choice(tuple(CrashPoint))
            self.counts[f"crash {point.name.lower()}"] += 1
            return point

        replica.link.crash_plan = plan

    def _break(self, node: str) -> None:
        kind = self._chance.choice(("Unknown", "Unknown", "False"))
        self.counts[f"node {kind}"] += 1
        self._world.scheduler.note(f"fault: {node} is {kind}")
        self._world.report(node, kind)
        heals_after = self._chance.choice((10.0, 75.0, 150.0, 300.0))
        self._world.scheduler.after(heals_after, lambda: self._world.report(node, "True"))

    def _storm(self) -> None:
        self.counts["storm"] += 1
        for node in self._chance.sample(self._world.nodes, 9):
            self._break(node)

    def _disturb(self) -> None:
        replica = self._chance.choice(self._world.replicas)
        disturbance = self._chance.choice(
            (
                self._pause,
                self._cut,
                self._step_clock,
                self._compact,
                self._pause_policy,
                self._touch,
                self._lag,
            )
        )
        self.counts[disturbance.__name__.strip("_").replace("_", " ")] += 1
        self._world.scheduler.note(f"fault: {disturbance.__name__} {replica.name}")
        disturbance(replica)

    def _pause(self, replica: Replica) -> None:
        replica.process.pause(self._chance.choice((1.0, 8.0, 20.0, 60.0)))

    def _cut(self, replica: Replica) -> None:
        link = replica.link
        link.cut(up=self._chance.random() < 0.7, down=self._chance.random() < 0.7)
        self._world.scheduler.after(self._chance.uniform(5.0, 60.0), link.heal)

    def _step_clock(self, replica: Replica) -> None:
        replica.clock.wall_error = timedelta(seconds=self._chance.choice((-86400.0, -60.0, 60.0, 86400.0)))

    def _compact(self, _replica: Replica) -> None:
        self._world.server.compact()
        self._world.server.break_watches()

    def _pause_policy(self, _replica: Replica) -> None:
        self._set_pause({"reason": "a look at the switch", "by": "admin"})
        self._world.scheduler.after(self._chance.uniform(20.0, 200.0), lambda: self._set_pause(None))

    def _set_pause(self, pause: dict[str, str] | None) -> None:
        self._world.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"pause": pause}})
        self._policy_changed()

    def _touch(self, _replica: Replica) -> None:
        """Write to every Machine as another controller, so that cached versions are out of date."""
        for name in self._world.machines:
            label = {"metadata": {"labels": {"touched": str(self._chance.randrange(10**6))}}}
            self._world.api.patch(MACHINE, name, label, at=(SPACE, ""))

    def _lag(self, _replica: Replica) -> None:
        """Freeze the watch cache of one kind for a while."""
        kind = self._chance.choice((NODE, MACHINE, FIX, CHECK, SWITCH_ON, NODE_HEALTH_CHECK))
        self._world.server.lag(kind, self._world.server.revision)
        after = self._chance.uniform(2.0, 40.0)
        self._world.scheduler.after(after, lambda: self._world.server.lag(kind, None))

    def _cease(self) -> None:
        self._set_quality(GOOD_LINK)
        for replica in self._world.replicas:
            replica.link.heal()
            for fate, times in replica.faults.items():
                self.counts[f"request {fate.name.lower()}"] += times
        for kind in (NODE, MACHINE, FIX, CHECK, SWITCH_ON, NODE_HEALTH_CHECK):
            self._world.server.lag(kind, None)
        for node in self._world.nodes:
            if not self._world.is_ready(node):
                self._world.report(node, "True")
