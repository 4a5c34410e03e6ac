"""The real boot gate in a simulated process: its decisions, with messages that can be lost."""

import time
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from nodemend.agent import exit_codes
from nodemend.agent.api_check.check import DesiredLease, needs_publishing, new_lease, renewed_lease
from nodemend.agent.api_check.reply import evaluate_reply, exit_code_of
from nodemend.agent.boot_gate.decide import (
    MARKED,
    CheckNow,
    GateClosed,
    GateOpen,
    GateOptions,
    evaluate_feeder,
    evaluate_gate,
)
from nodemend.agent.heartbeat import CreateLease, RenewLease
from nodemend.agent.watchdog.records import PUBLISHED, evaluate_watchdog, longest_lease
from nodemend.api.agent import AgentReport
from nodemend.api.well_known import AGENT_REPORT, MARKER
from nodemend.kube.outcome import LeaseFound
from nodemend.records.agent_lease import AgentLease, AgentLeaseResult
from tests.simulation.self_fencing.time_line import Process

if TYPE_CHECKING:
    from tests.simulation.self_fencing.node import Node

_S: Final = 1_000_000_000
_EVERY: Final = 2.0
_WITHIN: Final = 6.0
_BEGAN: Final = 1_767_225_600.0
"""Wall-clock time at which a simulation begins."""


class GateProcess(Process):
    """Reads, publishes and opens, as `boot_gate` and `api_check` do. Ends when it has opened."""

    def __init__(self, node: "Node") -> None:
        super().__init__(node.world.line)
        self._node = node
        self._turn = 0
        self._waits = node.name in node.world.held_back
        self._feeder: CheckNow | GateClosed = GateClosed("nothing is known yet")
        self._held_back = ""
        self._answered = False
        self._renewed = ""
        """renewTime of its last write."""
        self.do(self._begin)

    def _begin(self) -> None:
        """Run one check, from the feeder's status to the exit code. It ends at its deadline in any case."""
        node = self._node
        self._turn += 1
        turn = self._turn
        self._feeder = evaluate_feeder(node.status, node.boot_id, self._now())
        store = node.world.store
        store.ask(node.name, partial(store.read, node.name), partial(self._hear, turn), self)
        self.do(lambda: self._late(turn), node.clock.true(node.clock.now() + _WITHIN))

    def _hear(self, turn: int, lease: AgentLease | None) -> None:
        if turn == self._turn:
            self._write(lease)

    def _write(self, lease: AgentLease | None) -> None:
        node, now, status = self._node, self._now(), self._node.status
        known = None if lease is None else _as_json(node.name, lease, self._renewed)
        code = exit_codes.ABSENT if known is None else self._judged(known)
        watchdog_status = evaluate_watchdog(status, node.boot_id, now)
        self._held_back = "three resets" if self._waits and node.name in node.world.held_back else ""
        wall = _printed(node.wall)
        length = longest_lease(status, node.boot_id) or 35.0
        wanted = DesiredLease(node.name, node.boot_id, watchdog_status, length, "", wall, self._held_back)
        if code == exit_codes.MARKED or not needs_publishing(known, wanted):
            self._conclude(code)
            return
        request: CreateLease | RenewLease
        if lease is None or known is None:
            request = CreateLease(_report_in(new_lease(wanted, node.uid)), 0.0)
        else:
            request = RenewLease(lease, _report_in(renewed_lease(known, wanted, node.uid)), 0.0)
        turn, store = self._turn, node.world.store
        store.ask(
            node.name, lambda: store.serve(node.name, request), partial(self._written, turn, wall), self
        )

    def _written(self, turn: int, wall: str, news: AgentLeaseResult) -> None:
        if turn != self._turn:
            return
        if isinstance(news, LeaseFound):
            self._node.world.counts["published by a gate"] += 1
            self._renewed = wall
            self._conclude(self._judged(_as_json(self._node.name, news.lease, wall)))
        else:
            self._begin()

    def _judged(self, lease: dict[str, object]) -> int:
        body = msgspec.json.encode(lease)
        return exit_code_of(evaluate_reply(200, body, self._node.name, self._node.boot_id))

    def _late(self, turn: int) -> None:
        if turn == self._turn:
            self._conclude(exit_codes.FAILED)

    def _conclude(self, code: int) -> None:
        node = self._node
        self._turn += 1
        if code == exit_codes.CLEAN:
            node.gate_status = PUBLISHED
        self._answered |= code in MARKED
        asked = GateOptions(by_person=node.person_opens, answered=self._answered)
        match evaluate_gate(self._feeder, code, self._held_back, asked):
            case GateOpen():
                node.open_gate()
            case GateClosed():
                node.world.counts["a gate stays closed"] += 1
                self.do(self._begin, node.clock.true(node.clock.now() + _EVERY))

    def _now(self) -> int:
        return int(self._node.clock.now() * _S)


def _printed(wall: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(_BEGAN + wall))


def _as_json(name: str, lease: AgentLease, renewed: str) -> dict[str, object]:
    annotations = {}
    if isinstance(lease.report, AgentReport):
        report = msgspec.to_builtins(lease.report)
        # As gates and agents print it, including empty fields.
        report["watchdog"] = {"driver": "", "why": "", **report["watchdog"]}
        annotations[AGENT_REPORT] = msgspec.json.encode(report).decode()
    if lease.marker is not None:
        annotations[MARKER] = msgspec.json.encode(lease.marker).decode()
    about = {"name": name, "uid": lease.uid, "resourceVersion": lease.version, "annotations": annotations}
    return {"kind": "Lease", "metadata": about, "spec": {"renewTime": renewed}}


def _report_in(written: dict[str, object] | None) -> AgentReport:
    match written:
        case {"metadata": {"annotations": {**annotations}}}:
            return msgspec.json.decode(str(annotations[AGENT_REPORT]), type=AgentReport)
        case _:
            raise AssertionError(written)
