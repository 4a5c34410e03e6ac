"""The shipped elector, loop and gate in a simulated process, with work that writes by the epoch rule."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.kube.api_reply import Answer, Reply
from nodemend.kube.api_request import Precondition, Request, get, merge_patch
from nodemend.kube.leader_loop import ElectionSettings, Leadership, WorkOverranError, lead
from nodemend.kube.leader_record import LeaseAddress
from nodemend.kube.leader_timing import LeaseTiming
from nodemend.kube.ports import Stream, Transport
from nodemend.kube.write_gate import WriteGate
from nodemend.testing.network import Link
from nodemend.testing.processes import SimulatedProcess, SimulatedTask
from nodemend.testing.transport import SimulatedTransport
from tests.simulation.elector.judge import Judge

ELECTION: Final = LeaseAddress("remediator", keys.SYSTEM_NAMESPACE)
NAMESPACE: Final = keys.SYSTEM_NAMESPACE
OBJECTS: Final = ("node-1", "node-2")
_READ_SECONDS: Final = 2.0
_WRITE_SECONDS: Final = 5.0
_decode: Final = msgspec.json.Decoder(ManualRemediation).decode


@dataclass(slots=True)
class _Witness:
    """Between the gate and the network: whatever passes here has begun."""

    transport: Transport
    judge: Judge
    epoch: int

    async def send(self, request: Request, deadline: float) -> Reply:
        if request.writes:
            self.judge.action_began(self.epoch)
        return await self.transport.send(request, deadline)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self.transport.open(request, deadline)


class Candidate:
    """One process from its start to its end."""

    def __init__(self, process: SimulatedProcess, link: Link, timing: LeaseTiming, judge: Judge) -> None:
        self.process = process
        self.link = link
        self._timing = timing
        self._judge = judge
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
            await lead(self.process, self._transport, settings, self._work)
        except WorkOverranError:
            self._judge.tally.overruns += 1
        finally:
            when_ended()

    async def _work(self, leadership: Leadership) -> None:
        self._judge.term_began(self.process, leadership)
        witness = _Witness(self._transport, self._judge, leadership.epoch)
        gate = WriteGate(self.process, witness, leadership, needing=0.1)
        try:
            while True:
                await self.process.sleep(self._chance.uniform(0.0, 3.0))
                if leadership.may_begin(self.process.monotonic(), 0.0):
                    self._judge.action_began(leadership.epoch)
                await self._write(gate, leadership.epoch, self._chance.choice(OBJECTS))
        finally:
            # Work seldom ends in an instant.
            await self.process.sleep(self._chance.uniform(0.0, 0.5) * self._timing.stop_within)

    async def _write(self, gate: WriteGate, epoch: int, name: str) -> None:
        """Stamp an object with our epoch before the first write to it, each under compare-and-swap."""
        now = self.process.monotonic()
        seen = _object(await gate.send(get(MANUAL_REMEDIATION, name, NAMESPACE), now + _READ_SECONDS))
        if seen is not None and seen.status.epoch < epoch:
            seen = _object(await self._patch(gate, seen, epoch, "stamped"))
        if seen is not None and seen.status.epoch == epoch:
            self._written += 1
            await self._patch(gate, seen, epoch, f"{self._written} by {self.process.name}")

    async def _patch(self, gate: WriteGate, seen: ManualRemediation, epoch: int, message: str) -> Reply:
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
    return _decode(reply.body) if isinstance(reply, Answer) and reply.status == 200 else None
