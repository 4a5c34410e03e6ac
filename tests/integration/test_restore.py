"""A real etcd is restored from a backup: clients with later acknowledged writes notice it, in three ways
each.
"""

import asyncio
from dataclasses import dataclass, field
from typing import assert_never

import msgspec
import pytest

from controlplane.backups import Backup, Way
from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE
from nodemend.agent.heartbeat import (
    CreateLease,
    Heartbeat,
    HeartbeatCommand,
    HeartbeatEvent,
    HeartbeatStarted,
    ReadLease,
    RenewLease,
    WaitEnded,
)
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState
from nodemend.api.agent import AgentReport, WatchdogReport
from nodemend.api.resources import NODE
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT
from nodemend.kube.asyncio_runtime import run
from nodemend.kube.leader_election import LeaseTiming
from nodemend.kube.leader_runner import ElectionSettings, Leadership, LeaderTransport, lead
from nodemend.kube.outcome import ApiResponse, Reply, Unsent
from nodemend.kube.request import LeaseAddress, Precondition, as_confirmed, merge_patch
from nodemend.records.agent_lease import AgentLeaseResult, ask_lease, place_lease, renew_lease, understand
from nodemend.safety.time_proof import contact_of
from simulation.cluster.replicas import Silent
from tests.integration.connected_client import Connected, connected
from tests.integration.nightly import first_in_ci

pytest_plugins = ["controlplane.fixtures"]
pytestmark = [pytest.mark.real, pytest.mark.attack("K1")]

QUICK = LeaseTiming(
    lease_duration=5, renew_deadline=3.9, stop_within=0.8, retry_period=0.2, request_timeout=1.5
)
NODES = ("sick", "witness")
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"


@dataclass(slots=True)
class Agent:
    """The shipped agent's state machine, driven one renewal at a time."""

    here: Connected
    node: str
    watch: Heartbeat = field(init=False)

    def __post_init__(self) -> None:
        watchdog = WatchdogReport(class_="hardware", effective=10.0)
        who = AgentIdentity(node_uid=self.node, boot_id=f"{self.node}-1", watchdog=watchdog)
        self.watch = Heartbeat(who, AgentState(active_terms=ActiveTerms()), chance=0.0)

    async def renew(self, *, first: bool = False) -> None:
        """Renew until a renewal is acknowledged."""
        commands = self._step(HeartbeatStarted() if first else WaitEnded())
        while isinstance(command := commands[-1], ReadLease | CreateLease | RenewLease):
            commands = self._step(await self._send(command))

    def _step(self, event: HeartbeatEvent) -> tuple[HeartbeatCommand, ...]:
        runtime = self.here.runtime
        return self.watch.step(event, runtime.monotonic(), runtime.unslewed())

    async def _send(self, command: ReadLease | CreateLease | RenewLease) -> AgentLeaseResult:
        wall = self.here.runtime.wall()
        match command:
            case ReadLease():
                request = ask_lease(self.node)
            case CreateLease(report):
                request = place_lease(self.node, report, wall)
            case RenewLease(known, report):
                request = renew_lease(self.node, known, report, wall)
            case _:
                assert_never(command)
        return understand(await self.here.transport.send(request, self.here.soon(10.0)))


def report_of(plane: ControlPlane, node: str) -> AgentReport:
    text = plane.api.get(f"{LEASES}/{node}")["metadata"]["annotations"][AGENT_REPORT]
    return msgspec.json.decode(text, type=AgentReport)


class Leader:
    """A candidate, and the write gate of its current term."""

    def __init__(self, here: Connected) -> None:
        self._here = here
        self.terms: list[Leadership] = []
        settings = ElectionSettings(lease=LeaseAddress("remediator", "default"), candidate="a", timing=QUICK)
        term = lead(here.runtime, here.transport, settings, self._work, Silent())
        self.task = here.runtime.spawn(term, "leader")

    async def _work(self, leadership: Leadership) -> None:
        self.terms.append(leadership)
        await self._here.runtime.sleep(3600.0)

    async def leads(self, terms: int) -> None:
        deadline = self._here.soon(60.0)
        while len(self.terms) < terms:
            assert self._here.runtime.monotonic() < deadline, self.terms
            await self._here.runtime.sleep(0.05)

    async def release(self, plane: ControlPlane, term: int) -> Reply:
        """Write as a leader that has just decided to release, on a live read."""
        node = plane.api.get("/api/v1/nodes/sick")["metadata"]
        known = Precondition(node["uid"], node["resourceVersion"])
        taint = [{"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}]
        write = merge_patch(NODE, "sick", change={"spec": {"taints": taint}}, only_if=known, manager="test")
        gate = LeaderTransport(self._here.runtime, self._here.transport, self.terms[term], needing=0.1)
        return await gate.send(as_confirmed(write), self._here.soon(5.0))


@pytest.mark.parametrize("way", first_in_ci(Way), ids=lambda way: way.name.lower())
def test_no_promise_and_no_term_from_before_a_restore_counts(
    start_control_plane: StartControlPlane, way: Way
) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}})
    plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "sick"}})

    async def main() -> None:
        async with connected(plane) as here:
            agents = {name: Agent(here, name) for name in NODES}
            for name in ("witness", "sick", "witness", "sick"):
                await agents[name].renew(first=agents[name].watch.memory.contact is None)
            leader = Leader(here)
            await leader.leads(1)
            before = report_of(plane, "sick")
            assert contact_of(report_of(plane, "witness")).outlasts(before.replaces)
            backup = Backup(plane, way)
            # The promises of both from here on are lost. The unhealthy node is cut off, and cannot report.
            for name in (*NODES, *NODES):
                await agents[name].renew()
            assert isinstance(await leader.release(plane, 0), ApiResponse)

            # In a thread: the leader continues meanwhile, as in a real cluster.
            await asyncio.to_thread(backup.restore)

            assert report_of(plane, "sick") == before
            assert isinstance(await leader.release(plane, 0), Unsent)
            await agents["witness"].renew()
            await agents["witness"].renew()
            assert not contact_of(report_of(plane, "witness")).outlasts(before.replaces)
            await leader.leads(2)
            earlier, later = leader.terms
            assert later.epoch > later.remembers_from >= earlier.epoch
            assert isinstance(await leader.release(plane, 1), ApiResponse)
            leader.task.cancel()
            await leader.task.join()

    run(main())
