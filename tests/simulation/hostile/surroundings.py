"""What every hostile fault works with: the world, its time and chance, and who is told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import MANUAL_REMEDIATION, METAL3_REMEDIATION, SECRET
from nodemend.testing.cluster.world import World
from tests.simulation.hostile.endpoint import Between, Past
from tests.simulation.hostile.kinds import Kind, Tally
from tests.simulation.hostile.truth import CANARY, HostileInvariants

LASTS: Final = (15.0, 60.0, 200.0, 500.0)


@dataclass(slots=True)
class Around:
    """One world of machines. All faults are over when `ceases` has come."""

    world: World
    judge: HostileInvariants
    tally: Tally
    ceases: float
    chance: Random
    endpoints: dict[str, Between] = field(default_factory=dict)

    @property
    def now(self) -> float:
        return self.world.scheduler.now

    def note(self, text: str) -> None:
        self.world.scheduler.note(f"hostile: {text}")

    def at_some_times(self, most: int, fault: Callable[[], None]) -> None:
        """Once at least."""
        for _ in range(self.chance.randint(1, most)):
            when = self.chance.uniform(20.0, self.ceases - 200.0)
            self.world.scheduler.at(when, fault)

    def later(self, undo: Callable[[], None], lasts: tuple[float, ...] = LASTS) -> None:
        """At the latest when all faults cease."""
        when = min(self.now + self.chance.choice(lasts), self.ceases)
        self.world.scheduler.at(when, undo)

    def pick(self) -> str:
        """A node, rather one that is under remediation."""
        kinds = [MANUAL_REMEDIATION] + [METAL3_REMEDIATION] * self._has_hosts
        busy = {one["metadata"]["name"] for kind in kinds for one in self.world.admin_api.list(kind)}
        known = [name for name in sorted(self.world.machines) if name in busy]
        return self.chance.choice(
            known if known and self.chance.random() < 0.7 else sorted(self.world.machines)
        )

    @property
    def _has_hosts(self) -> bool:
        return self.judge.removes_nodes

    def token(self, kind: Kind) -> str:
        """That nothing else in this world contains."""
        return (
            f"{kind.name.lower().replace('_', '-')}-{self.tally.made.total()}x{self.chance.randrange(10**6)}"
        )


def stand_between(around: Around) -> None:
    """Every replica gets an API server of its own, and everything that it asks for passes by the judge."""
    world, judge = around.world, around.judge
    secret = {"metadata": {"name": "canary"}, "stringData": {"password": CANARY}}
    world.admin_api.create(SECRET, secret, keys.SYSTEM_NAMESPACE)
    past = Past(world.server, world.scheduler)
    for replica in world.replicas:
        account = world.checker if replica.name.startswith("checker") else world.remediator
        between = Between(account, past, around.tally, replica.faults)
        between.before.append(judge.remember)
        between.heard.append(judge.saw_read)
        replica._endpoint = replica.link.endpoint = between
        around.endpoints[replica.name] = between
