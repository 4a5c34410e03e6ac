"""Directed seeds: each meets one danger of a beginning that a limit forbids.

Links are good and other faults are absent, so the judges here are exact where those of the mixed seeds
tolerate late writes.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from simulation.network import GOOD_LINK
from tests.simulation.checks.faults import LENIENT
from tests.simulation.checks.invariants import LATEST_ARRIVAL, READ_WITHIN, Invariants
from tests.simulation.checks.world import POOLS, SECONDS, ChecksWorld
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.directing import DirectedSeed

BEGUN_WITHIN: Final = SECONDS + 15.0
"""Seconds from the failure of a node to its remediation, if no limit holds it."""
SEEN_WITHIN: Final = 5.0
"""Seconds within which a program whose view is up to date knows the state of every node."""
ROUNDING: Final = 1.0
"""Seconds by which two times may differ that were read at the two ends of a link."""


class ExactInvariants(Invariants):
    """The usual invariants, with limits that can be checked exactly."""

    def __init__(self, world: ChecksWorld, policy: Mapping[str, Any]) -> None:
        super().__init__(world, policy["maxConcurrent"])
        self.unhealthy_since: dict[str, float] = {}
        self.most_unhealthy = len(world.nodes)
        self.interval = float(policy["minInterval"].removesuffix("s"))
        self._begun_at = -self.interval

    def _saw_beginning(self, name: str) -> None:
        super()._saw_beginning(name)
        now = self._world.scheduler.now
        if now - self._begun_at < self.interval - ROUNDING:
            raise InvariantBrokenError(f"I5: {name} begins {now - self._begun_at:.0f} s after another")
        self._begun_at = now
        known = [since for since in self.unhealthy_since.values() if since < now - SEEN_WITHIN]
        if len(known) > self.most_unhealthy:
            raise InvariantBrokenError(f"I5: {name} begins while {len(known)} nodes are unhealthy")
        members = self._world.names["control"]
        ready = [one for one in members if one != name and one not in self.unhealthy_since]
        if name in members and 2 * len(ready) <= len(members):
            raise InvariantBrokenError(f"I6: {name} begins with {len(ready)} others of {len(members)} Ready")


class Directed(DirectedSeed[ChecksWorld, ExactInvariants]):
    """One seed of one family."""

    policy: ClassVar[Mapping[str, Any]] = LENIENT

    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        super().__init__(seed)
        name = f"{self.family} {seed}"
        self.world = ChecksWorld(name, GOOD_LINK, self.policy, pools=self.pools(), keep_trace=keep_trace)
        self.api = self.world.api
        self.invariants = ExactInvariants(self.world, self.policy)

    def pools(self) -> Mapping[str, int]:
        return POOLS

    def start(self) -> None:
        """Run until the programs know the nodes."""
        self.run(self.chance.uniform(40.0, 60.0))

    def fail(self, *nodes: str) -> None:
        for node in nodes:
            self.tell("a node fails")
            self.invariants.unhealthy_since[node] = self.world.scheduler.now
            self.world.report(node, self.chance.choice(("Unknown", "False")))

    def heal(self, *nodes: str) -> None:
        for node in nodes:
            self.invariants.unhealthy_since.pop(node, None)
            self.world.report(node, "True")

    def some(self, count: int) -> list[str]:
        """Return nodes that are no members of the control plane."""
        free = [one for one in self.world.nodes if not one.startswith("control")]
        return self.chance.sample(free, count)

    def has_begun(self) -> None:
        if not self.invariants.begun:
            raise InvariantBrokenError("I14: nothing begins, and nothing holds it")


class EvenControlPlane(Directed):
    """As many members of the control plane fail as are left: the rest is half of them, and no quorum."""

    family: ClassVar[str] = "EvenControlPlane"

    def pools(self) -> Mapping[str, int]:
        return {**POOLS, "control": self.chance.choice((2, 4))}

    def play(self) -> None:
        self.start()
        members = list(self.world.names["control"])
        for name in self.chance.sample(members, len(members) // 2):
            self.fail(name)
            self.run(self.chance.uniform(0.0, 10.0))
        self.run(BEGUN_WITHIN + 20.0)
        self.heal(*members)
        self.run(READ_WITHIN)
        self.fail(*self.some(1))
        self.run(BEGUN_WITHIN + 20.0)
        self.has_begun()


class FailTogether(Directed):
    """Several nodes fail at nearly the same time, and the policy wants an interval between two beginnings.

    All have NodeHealthChecks, or all have MachineHealthChecks.
    """

    family: ClassVar[str] = "FailTogether"
    policy: ClassVar[Mapping[str, Any]] = {**LENIENT, "minInterval": "40s"}

    def play(self) -> None:
        names = self.world.names
        self.start()
        machines = (*names["fixed"], *names["owned"])
        alike = self.chance.choice((self.chance.sample(names["bare"], 2), self.chance.sample(machines, 3)))
        for name in alike:
            self.fail(name)
            self.run(self.chance.choice((0.0, 0.0, 5.0)))
        if self.chance.random() < 0.3:
            self.run(BEGUN_WITHIN)
            self.tell("the checker dies")
            self.leader("checker").process.crash()
        self.run(BEGUN_WITHIN + 100.0)
        self.has_begun()


class Storm(Directed):
    """So many nodes fail together, of every kind of check, that the nodes are hardly the cause."""

    family: ClassVar[str] = "Storm"
    policy: ClassVar[Mapping[str, Any]] = {**LENIENT, "maxUnhealthy": "30%"}

    def play(self) -> None:
        names, chance = self.world.names, self.chance
        self.start()
        self.invariants.most_unhealthy = len(self.world.nodes) * 3 // 10 + 1
        machines = (*names["fixed"], *names["owned"])
        self.fail(*chance.sample(names["bare"], 2), *chance.sample(machines, 5))
        self.run(BEGUN_WITHIN + chance.uniform(20.0, 60.0))
        self.heal(*self.world.nodes)
        self.run(READ_WITHIN)
        self.fail(*self.some(1))
        self.run(BEGUN_WITHIN + 40.0)
        self.has_begun()


class NotPermitted(Directed):
    """When nodes fail, the policy permits no remediation: it is set to DryRun, paused or deleted."""

    family: ClassVar[str] = "NotPermitted"

    def play(self) -> None:
        self.start()
        self.forbid()
        self.run(READ_WITHIN + LATEST_ARRIVAL)
        self.fail(*self.some(2))
        self.run(BEGUN_WITHIN + 20.0)
        self.allow()
        self.run(40.0)
        self.has_begun()
