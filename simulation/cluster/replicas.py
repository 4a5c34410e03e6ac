"""Replicas of Nodemend's programs in the simulated world: start, crash, restart."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

from nodemend.api import well_known
from nodemend.api.resources import LEASE
from nodemend.guard.policy_proof import Admission
from nodemend.health.manager import Checker, CheckerObservers
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.kube.leader_runner import ElectionSettings, WorkOverranError
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.request import LeaseAddress
from nodemend.remediation.manager import NO_POWERS, EnabledKinds, Remediator, RemediatorObservers
from simulation.cluster.direct import Direct
from simulation.network import Endpoint, Fate, Link, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

Program = Callable[[Runtime, Transport, str], Coroutine[Any, Any, None]]


class Silent:
    """An observer and recorder that does nothing."""

    def _ignore(self, *_: object) -> None: ...

    # Of an election.
    began = renewed = ended = stumbled = _ignore
    # Of a loop.
    took = finished = overflowed = _ignore
    # Of a controller.
    held = judged = asked = withdrew_orphan = withdrew = annotation_ignored = report_orphaned = _ignore
    unserved = order_expired = looked = counted = recovering = overlapped = stalled = agents_seen = _ignore
    still_held = started = guarded = filled = _ignore

    def crashed(self, key: object, error: Exception, seconds: float) -> None:
        """Fail the simulation: an exception in Nodemend's own code is never acceptable."""
        raise AssertionError(f"reconcile of {key} raised {error!r}") from error


def election(lease: str, candidate: str, namespace: str) -> ElectionSettings:
    return ElectionSettings(lease=LeaseAddress(lease, namespace), candidate=candidate)


def checker(
    runtime: Runtime,
    transport: Transport,
    name: str,
    *,
    medik8s_leases: str = "",
    recorder: NodeHealthCheckRecorder | Silent | None = None,
    admission: Admission | None = None,
) -> Coroutine[Any, Any, None]:
    reports = cast("NodeHealthCheckRecorder", recorder or Silent())
    observers = CheckerObservers(Silent(), Silent(), reports)
    settings = election("nodemend-checker", name, "nodemend-system")
    return Checker(
        runtime, transport, settings, observers, medik8s_leases=medik8s_leases, admission=admission
    ).run()


def remediator(
    runtime: Runtime,
    transport: Transport,
    name: str,
    *,
    powers: EnabledKinds = NO_POWERS,
    admission: Admission | None = None,
) -> Coroutine[Any, Any, None]:
    observers = RemediatorObservers(Silent(), Silent(), Silent(), Silent(), Silent(), Silent())
    settings = election("nodemend-remediator", name, "nodemend-system")
    return Remediator(runtime, transport, settings, observers, powers=powers, admission=admission).run()


class Replica:
    """One Pod of Nodemend. After its process ends for any reason, a new one starts after a delay."""

    def __init__(
        self, scheduler: Scheduler, name: str, program: Program, endpoint: Endpoint, quality: LinkQuality
    ) -> None:
        self.name = name
        self.quality = quality
        self.starts = 0
        self.clock = HostClock()
        self._scheduler = scheduler
        self._program = program
        self._endpoint = endpoint
        self._chance = scheduler.chance(f"replica {name}")
        self.on_start: Callable[[Replica], None] | None = None
        self.process: SimulatedProcess
        self.link: Link
        self.faults: dict[Fate, int] = {}
        """Faults of the requests of all its processes; some requests arrive after their process has ended."""
        self.start()

    def start(self) -> None:
        self.starts += 1
        self.process = SimulatedProcess(self._scheduler, f"{self.name}.{self.starts}", self.clock)
        self.link = Link(self.process, self._endpoint, self.quality)
        self.link.faults = self.faults
        if self.on_start is not None:
            self.on_start(self)
        transport = SimulatedTransport(self.link)
        self.process.spawn(self._live(self.process, transport), "program")
        self._scheduler.note(f"{self.process.name} starts")

    def watch_over(self) -> None:
        """Restart the process after it ended, as a kubelet does."""
        if not self.process.alive:
            self.start()
        self._scheduler.after(self._chance.uniform(2.0, 12.0), self.watch_over)

    async def _live(self, process: SimulatedProcess, transport: SimulatedTransport) -> None:
        try:
            await self._program(process, transport, process.name)
        except WorkOverranError as overran:
            # The real program also exits immediately and is restarted.
            self._scheduler.note(f"{process.name} exits: {overran}")
        process.crash()


def find_leader(api: Direct, role: str, replicas: Sequence[Replica]) -> Replica:
    """Return the replica of this program that holds its Lease, if it still runs; otherwise the first."""
    lease = api.get(LEASE, f"nodemend-{role}", well_known.SYSTEM_NAMESPACE)
    holder = (lease["spec"].get("holderIdentity") or "") if lease else ""
    found = [one for one in replicas if one.name.startswith(role)]
    return next((one for one in found if holder.startswith(f"{one.process.name}_")), found[0])
