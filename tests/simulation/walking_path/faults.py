"""Faults of a run: drawn from its seed, counted when they happen."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE, REMEDIATION_ORDER, REMEDIATION_POLICY
from nodemend.kube.request import Request
from simulation.cluster.machines import Machine
from simulation.cluster.replicas import Replica
from simulation.cluster.world import World
from simulation.network import GOOD_LINK, CrashPoint, LinkQuality, worse

FAULTS_CEASE = 1500.0
"""Simulated seconds after which no fault starts."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    """Severity of the faults in a run."""

    quality: LinkQuality
    crash_every: int
    machine_faults: int
    policy: Mapping[str, object]

    @classmethod
    def draw(cls, chance: random.Random) -> "FaultRates":
        losses = chance.choice((0.0, 0.01, 0.05, 0.15))
        slow = chance.choice((0.02, 0.02, 0.5))
        quality = replace(worse(GOOD_LINK, losses), delay=(0.001, slow))
        policy = _STRICT if chance.random() < 0.2 else LENIENT
        return cls(quality, chance.choice((0, 3, 8, 20)), chance.randint(2, 6), policy)


LENIENT: Final = {
    "maxUnhealthy": "100%",
    "settleTime": "5s",
    "minInterval": "1s",
    "maxConcurrentPercent": 100,
}
"""Permits almost everything, so that releases are reached."""
_STRICT: Final = {"maxUnhealthy": 2, "settleTime": "2m", "minInterval": "10s", "maxConcurrentPercent": 10}
"""Closes the guard, with a cooldown and a start interval."""


class Faults:
    """Injects the faults."""

    def __init__(
        self, world: World, fault_rates: FaultRates, policy_changed: Callable[[], None], *, hands: bool = True
    ) -> None:
        """Without `hands`, machines lose no power, and are not powered on before all faults end."""
        self.counts: Counter[str] = Counter()
        self._hands = hands
        self._world = world
        self._fault_rates = fault_rates
        self._policy_changed = policy_changed
        self._chance = world.scheduler.chance("faults")

    def plan(self) -> None:
        for replica in self._world.replicas:
            replica.clock.rate = self._chance.uniform(0.999, 1.001)
            replica.on_start = self._arm
            self._arm(replica)
        machines = list(self._world.machines.values())
        for _ in range(self._fault_rates.machine_faults):
            self._at_some_time(lambda: self._break(self._chance.choice(machines)))
        for _ in range(self._chance.randint(0, 6)):
            self._at_some_time(self._disturb)
        self._world.scheduler.at(FAULTS_CEASE, self._cease)

    def _at_some_time(self, fault: Callable[[], None]) -> None:
        self._world.scheduler.at(self._chance.uniform(20.0, FAULTS_CEASE - 300.0), fault)

    def _arm(self, replica: Replica) -> None:
        """Crash at one in `crash_every` writes, at one of three points."""
        every = self._fault_rates.crash_every
        if not every or self._world.scheduler.now >= FAULTS_CEASE:
            return

        def plan(_request: Request) -> CrashPoint | None:
            if self._world.scheduler.now >= FAULTS_CEASE or self._chance.random() >= 1 / every:
                return None
            point = self._chance.choice(tuple(CrashPoint))
            self.counts[f"crash {point.name.lower()}"] += 1
            return point

        replica.link.crash_plan = plan

    def _break(self, machine: Machine) -> None:
        kind = self._chance.choice(("power", "hang", "cut") if self._hands else ("hang", "cut"))
        self.counts[f"machine {kind}"] += 1
        self._world.scheduler.note(f"fault: {kind} of {machine.name}")
        heals_after = self._chance.choice((30.0, 120.0, 400.0, 2000.0))
        if kind == "power":
            machine.power_off()
        elif kind == "hang":
            machine.hung = True
        else:
            machine.connected = False
        self._world.scheduler.after(heals_after, lambda: self._heal(machine))

    def _heal(self, machine: Machine) -> None:
        """Repair a machine. One with a ManualRemediation stays off, because its admin powers it on."""
        machine.hung, machine.connected = False, True
        ceased = self._world.scheduler.now >= FAULTS_CEASE
        if (self._hands or ceased) and self._is_unattended(machine):
            machine.power_on()

    def _is_unattended(self, machine: Machine) -> bool:
        return all(
            remediation["metadata"]["name"] != machine.name
            for remediation in self._world.admin_api.list(MANUAL_REMEDIATION)
        )

    def _disturb(self) -> None:
        replica = self._chance.choice(self._world.replicas)
        disturbance = self._chance.choice(
            (
                self._pause,
                self._cut,
                self._step_clock,
                self._compact,
                self._pause_policy,
                self._touch_nodes,
                self._order,
            )
        )
        self.counts[disturbance.__name__.strip("_").replace("_", " ")] += 1
        self._world.scheduler.note(f"fault: {disturbance.__name__} {replica.name}")
        disturbance(replica)

    def _pause(self, replica: Replica) -> None:
        replica.process.pause(self._chance.choice((1.0, 8.0, 20.0, 90.0)))

    def _cut(self, replica: Replica) -> None:
        link = replica.link
        link.cut(up=self._chance.random() < 0.7, down=self._chance.random() < 0.7)
        self._world.scheduler.after(self._chance.uniform(5.0, 120.0), link.heal)

    def _step_clock(self, replica: Replica) -> None:
        replica.clock.wall_error = timedelta(seconds=self._chance.choice((-86400.0, -60.0, 60.0, 86400.0)))

    def _compact(self, _replica: Replica) -> None:
        self._world.server.compact()
        self._world.server.break_watches()

    def _pause_policy(self, _replica: Replica) -> None:
        self._set_pause({"reason": "a look at the switch", "by": "admin"})
        self._world.scheduler.after(self._chance.uniform(20.0, 300.0), lambda: self._set_pause(None))

    def _set_pause(self, pause: dict[str, str] | None) -> None:
        self._world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"pause": pause}})
        self._policy_changed()

    def _touch_nodes(self, _replica: Replica) -> None:
        """Write to every Node as another controller, so that cached versions are out of date."""
        for name in self._world.machines:
            label = {"metadata": {"labels": {"touched": str(self._chance.randrange(10**6))}}}
            self._world.admin_api.patch(NODE, name, label)

    def _order(self, _replica: Replica) -> None:
        """Order the remediation of a node, preferably an unready one; half of the orders override a guard."""
        api = self._world.admin_api
        unready = [node for node in api.list(NODE) if not _is_ready(node)] or api.list(NODE)
        node = self._chance.choice(unready)["metadata"]
        past_guard = self._chance.random() < 0.5
        spec = {"by": "admin", "reason": "it looks sick", "nodeUID": node["uid"], "pastGuard": past_guard}
        if api.get(REMEDIATION_ORDER, node["name"]) is None:
            api.create(REMEDIATION_ORDER, {"metadata": {"name": node["name"]}, "spec": spec})

    def _cease(self) -> None:
        for replica in self._world.replicas:
            replica.quality = GOOD_LINK
            replica.link.quality = GOOD_LINK
            replica.link.heal()
            for fate, times in replica.faults.items():
                self.counts[f"request {fate.name.lower()}"] += times
        for machine in self._world.machines.values():
            self._heal(machine)


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
