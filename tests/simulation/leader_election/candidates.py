"""The real elector, loop and write gate in a simulated process, with work that follows the epoch rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from nodemend.api import well_known
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.kube.leader_election import LeaseTiming
from nodemend.kube.leader_runner import ElectionSettings, Leadership, LeaderTransport, WorkOverranError, lead
from nodemend.kube.outcome import ApiResponse, Reply
from nodemend.kube.ports import Stream, Transport
from nodemend.kube.request import LeaseAddress, Precondition, Request, get, merge_patch
from simulation.cluster.replicas import Silent
from simulation.network import Link
from simulation.processes import SimulatedProcess, SimulatedTask
from simulation.transport import SimulatedTransport
from tests.simulation.leader_election.violations import Judge

ELECTION: Final = LeaseAddress("remediator", well_known.SYSTEM_NAMESPACE)
NAMESPACE: Final = well_known.SYSTEM_NAMESPACE
OBJECTS: Final = ("node-1", "node-2")
_READ_SECONDS: Final = 2.0
_WRITE_SECONDS: Final = 5.0
_decode: Final = msgspec.json.Decoder(ManualRemediation).decode


@dataclass(slots=True)
class _Witness:
    """Transport between the gate and the network. A write that arrives here has begun."""

    transport: Transport
    evaluate: Judge
    epoch: int

    async def send(self, request: Request, deadline: float) -> Reply:
        if request.writes:
            self.evaluate.action_began(self.epoch)
        return await self.transport.send(request, deadline)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self.transport.open(request, deadline)


class Candidate:
    """One process from its start to its end."""

    def __init__(self, process: SimulatedProcess, link: Link, timing: LeaseTiming, evaluate: Judge) -> None:
        self.process = process
        self.link = link
        self._timing = timing
        self._evaluate = evaluate
        self._transport = SimulatedTransport(link)
        self._chance = process.scheduler.chance(f"work of {process.name}")
        self._written = 0
        self._task: SimulatedTask | None = None

    def start(self, when_ended: Callable[[], object]) -> None:
        self._task = self.process.spawn(self._main(when_ended), "main")

    def resign(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _main(self, when_ended: Callable[[], object]) -> None:
        settings = ElectionSettings(lease=ELECTION, candidate=self.process.name, timing=self._timing)
        try:
            await lead(self.process, self._transport, settings, self._work, Silent())
        except WorkOverranError:
            self._evaluate.counts.overruns += 1
        finally:
            when_ended()

    async def _work(self, leadership: Leadership) -> None:
        self._evaluate.term_began(self.process, leadership)
        witness = _Witness(self._transport, self._evaluate, leadership.epoch)
        gate = LeaderTransport(self.process, witness, leadership, needing=0.1)
        try:
            while True:
                await self.process.sleep(self._chance.uniform(0.0, 3.0))
                if leadership.may_begin(self.process.monotonic(), 0.0):
                    self._evaluate.action_began(leadership.epoch)
                await self._write(gate, leadership.epoch, self._chance.choice(OBJECTS))
        finally:
            # Work rarely ends immediately.
            await self.process.sleep(self._chance.uniform(0.0, 0.5) * self._timing.stop_within)

    async def _write(self, gate: LeaderTransport, epoch: int, name: str) -> None:
        """Stamp an object with the leader's epoch before the first write, both with compare-and-swap."""
        now = self.process.monotonic()
        seen = _object(await gate.send(get(MANUAL_REMEDIATION, name, NAMESPACE), now + _READ_SECONDS))
        if seen is not None and seen.status.epoch < epoch:
            seen = _object(await self._patch(gate, seen, epoch, "stamped"))
        if seen is not None and seen.status.epoch == epoch:
            self._written += 1
            await self._patch(gate, seen, epoch, f"{self._written} by {self.process.name}")

    async def _patch(self, gate: LeaderTransport, seen: ManualRemediation, epoch: int, message: str) -> Reply:
        request = merge_patch(
            MANUAL_REMEDIATION,
            seen.metadata.name,
            NAMESPACE,
            change={"status": {"epoch": epoch, "message": message}},
            only_if=Precondition(seen.metadata.uid, seen.metadata.resource_version),
            manager="elector-campaign",
            subresource="status",
        )
        return await gate.send(request, self.process.monotonic() + _WRITE_SECONDS)


def _object(reply: Reply) -> ManualRemediation | None:
    return _decode(reply.body) if isinstance(reply, ApiResponse) and reply.status == 200 else None
