"""What every hostile fault works with: a world's server, time and chance, and who is told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import SECRET, Resource
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.cluster.replicas import Replica
from nodemend.testing.cluster.world import Account, World
from nodemend.testing.scheduler import Scheduler
from tests.simulation.hostile.endpoint import Between, Past
from tests.simulation.hostile.kinds import Kind, Tally

LASTS: Final = (15.0, 60.0, 200.0, 500.0)
CANARY: Final = "nobody-ever-prints-this"
"""In a Secret that our accounts could read by a mistake alone."""


@dataclass(slots=True)
class Around:
    """One world. All faults are over when `ceases` has come."""

    scheduler: Scheduler
    server: SimulatedApiServer
    api: Direct
    replicas: Sequence[Replica]
    account_of: Callable[[Replica], Account]
    tally: Tally
    ceases: float
    nodes: Sequence[str]
    busy: Callable[[], set[str]]
    """Names of the nodes under remediation."""
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """None in a world of Nodes alone."""
    quiet: float = 0.15
    """In this share of the time before they cease no fault begins any more."""
    chance: Random = field(init=False)
    endpoints: dict[str, Between] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = self.scheduler.chance("hostile")

    @property
    def now(self) -> float:
        return self.scheduler.now

    def note(self, text: str) -> None:
        self.scheduler.note(f"hostile: {text}")

    def at_some_times(self, most: int, fault: Callable[[], None]) -> None:
        """Once at least."""
        for _ in range(self.chance.randint(1, most)):
            self.scheduler.at(self.chance.uniform(20.0, self.ceases * (1.0 - self.quiet)), fault)

    def later(self, undo: Callable[[], None], lasts: tuple[float, ...] = LASTS) -> None:
        """At the latest when all faults cease."""
        self.scheduler.at(min(self.now + self.chance.choice(lasts), self.ceases), undo)

    def pick(self) -> str:
        """A node, rather one that is under remediation."""
        busy = self.busy()
        known = [name for name in self.nodes if name in busy]
        return self.chance.choice(known if known and self.chance.random() < 0.7 else self.nodes)

    def token(self, kind: Kind) -> str:
        """That nothing else in this world contains."""
        what = kind.name.lower().replace("_", "-")
        return f"{what}-{self.tally.made.total()}x{self.chance.randrange(10**6)}"


def stand_between(
    around: Around,
    namespace: str,
    before: Callable[[Request], None],
    heard: Callable[[Request, Answer], None],
) -> None:
    """Every replica gets an API server of its own, and everything that it asks for passes by the judge."""
    secret = {"metadata": {"name": "canary"}, "stringData": {"password": CANARY}}
    around.api.create(SECRET, secret, namespace)
    past = Past(around.server, around.scheduler)
    for replica in around.replicas:
        between = Between(around.account_of(replica), past, around.tally, replica.faults)
        between.before.append(before)
        between.heard.append(heard)
        replica._endpoint = replica.link.endpoint = between
        around.endpoints[replica.name] = between


def surround(
    world: World,
    tally: Tally,
    *,
    kinds: Sequence[Resource],
    ceases: float,
    before: Callable[[Request], None],
    heard: Callable[[Request, Answer], None],
) -> Around:
    """A world of machines. A node is busy while there is a remediation of one of these kinds for it."""
    around = Around(
        scheduler=world.scheduler,
        server=world.server,
        api=world.admin_api,
        replicas=world.replicas,
        account_of=lambda one: world.checker if one.name.startswith("checker") else world.remediator,
        tally=tally,
        ceases=ceases,
        nodes=sorted(world.machines),
        busy=lambda: {one["metadata"]["name"] for kind in kinds for one in world.admin_api.list(kind)},
        machines=world.machines,
    )
    stand_between(around, keys.SYSTEM_NAMESPACE, before, heard)
    return around
