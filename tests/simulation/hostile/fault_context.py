"""Dependencies of hostile faults: a world's server, time, random stream and observers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import SECRET, Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.machines import Machine
from simulation.cluster.replicas import Replica
from simulation.cluster.world import Account, World
from simulation.scheduler import Scheduler
from tests.simulation.hostile.endpoint import Between, Past
from tests.simulation.hostile.kinds import Counts, Kind

LASTS: Final = (15.0, 60.0, 200.0, 500.0)
CANARY: Final = "nobody-ever-prints-this"
"""Content of a Secret that Nodemend's accounts can read only by mistake."""


@dataclass(slots=True)
class Around:
    """One world. All faults are over at `ceases`."""

    scheduler: Scheduler
    server: SimulatedApiServer
    api: Direct
    replicas: Sequence[Replica]
    account_of: Callable[[Replica], Account]
    counts: Counts
    ceases: float
    nodes: Sequence[str]
    busy: Callable[[], set[str]]
    """Returns the names of the nodes under remediation."""
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Empty in a world of Nodes without machines."""
    quiet: float = 0.15
    """Share of the time before `ceases` in which no fault starts."""
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
        """Schedule a fault at one or more random times."""
        for _ in range(self.chance.randint(1, most)):
            self.scheduler.at(self.chance.uniform(20.0, self.ceases * (1.0 - self.quiet)), fault)

    def later(self, undo: Callable[[], None], lasts: tuple[float, ...] = LASTS) -> None:
        """Schedule the end of a fault, at the latest when all faults end."""
        self.scheduler.at(min(self.now + self.chance.choice(lasts), self.ceases), undo)

    def pick(self) -> str:
        """Return a node, preferably one under remediation."""
        busy = self.busy()
        known = [name for name in self.nodes if name in busy]
        return self.chance.choice(known if known and self.chance.random() < 0.7 else self.nodes)

    def token(self, kind: Kind) -> str:
        """Return a text that nothing else in this world contains."""
        what = kind.name.lower().replace("_", "-")
        return f"{what}-{self.counts.made.total()}x{self.chance.randrange(10**6)}"


def stand_between(
    around: Around,
    namespace: str,
    before: Callable[[Request], None],
    heard: Callable[[Request, ApiResponse], None],
) -> None:
    """Give every replica a separate API server, and report all its requests to the invariants."""
    secret = {"metadata": {"name": "canary"}, "stringData": {"password": CANARY}}
    around.api.create(SECRET, secret, namespace)
    past = Past(around.server, around.scheduler)
    for replica in around.replicas:
        between = Between(around.account_of(replica), past, around.counts, replica.faults)
        between.before.append(before)
        between.heard.append(heard)
        replica._endpoint = replica.link.endpoint = between
        around.endpoints[replica.name] = between


def surround(
    world: World,
    counts: Counts,
    *,
    kinds: Sequence[Resource],
    ceases: float,
    before: Callable[[Request], None],
    heard: Callable[[Request, ApiResponse], None],
) -> Around:
    """Return a world of machines. A node is busy while a remediation of one of these kinds exists for it."""
    around = Around(
        scheduler=world.scheduler,
        server=world.server,
        api=world.admin_api,
        replicas=world.replicas,
        account_of=lambda one: world.checker if one.name.startswith("checker") else world.remediator,
        counts=counts,
        ceases=ceases,
        nodes=sorted(world.machines),
        busy=lambda: {one["metadata"]["name"] for kind in kinds for one in world.admin_api.list(kind)},
        machines=world.machines,
    )
    stand_between(around, well_known.SYSTEM_NAMESPACE, before, heard)
    return around
