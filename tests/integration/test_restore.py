"""A real etcd is restored from a backup: whoever had more acknowledged notices, in each of three ways."""

import asyncio
from dataclasses import dataclass, field
from typing import assert_never

import msgspec
import pytest

from controlplane.backups import Backup, Way
from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE
from nodemend.agent.memory import Memory, Self
from nodemend.agent.published import Conduct
from nodemend.agent.self_watch import SelfWatch
from nodemend.agent.self_watch_steps import Begun, Command, Event, PlaceLease, ReadLease, RenewLease, Waited
from nodemend.api.agent_lease import AgentReport, WatchdogReport
from nodemend.api.group_versions import NODE
from nodemend.api.keys import AGENT_NAMESPACE, AGENT_REPORT
from nodemend.decide.contact_evidence import contact_of
from nodemend.kube.agent_lease import LeaseNews, ask_lease, place_lease, renew_lease, understand
from nodemend.kube.api_reply import Answer, Reply, Unsent
from nodemend.kube.api_request import Precondition, as_confirmed, merge_patch
from nodemend.kube.asyncio_shell import run
from nodemend.kube.leader_loop import ElectionSettings, Leadership, lead
from nodemend.kube.leader_record import LeaseAddress
from nodemend.kube.leader_timing import LeaseTiming
from nodemend.kube.write_gate import WriteGate
from tests.integration.connected_client import Connected, connected

pytest_plugins = ["controlplane.fixtures"]
pytestmark = [pytest.mark.real, pytest.mark.attack("K1")]

QUICK = LeaseTiming(
    lease_duration=5, renew_deadline=3.9, stop_within=0.8, retry_period=0.2, request_timeout=1.5
)
NODES = ("sick", "witness")
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"


@dataclass(slots=True)
class Agent:
    """The shipped machine of an agent, asked for one renewal at a time."""

    here: Connected
    node: str
    watch: SelfWatch = field(init=False)

    def __post_init__(self) -> None:
        watchdog = WatchdogReport(class_="hardware", effective=10.0)
        who = Self(node_uid=self.node, boot_id=f"{self.node}-1", watchdog=watchdog)
        self.watch = SelfWatch(who, Memory(conduct=Conduct()), chance=0.0)

    async def renew(self, *, first: bool = False) -> None:
        """Until a renewal is acknowledged."""
        commands = self._step(Begun() if first else Waited())
        while isinstance(command := commands[-1], ReadLease | PlaceLease | RenewLease):
            commands = self._step(await self._send(command))

    def _step(self, event: Event) -> tuple[Command, ...]:
        runtime = self.here.runtime
        return self.watch.step(event, runtime.monotonic(), runtime.unslewed())

    async def _send(self, command: ReadLease | PlaceLease | RenewLease) -> LeaseNews:
        wall = self.here.runtime.wall()
        match command:
            case ReadLease():
                request = ask_lease(self.node)
            case PlaceLease(report):
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
    """A campaign, and the write gate of its present term."""

    def __init__(self, here: Connected) -> None:
        self._here = here
        self.terms: list[Leadership] = []
        settings = ElectionSettings(lease=LeaseAddress("remediator", "default"), candidate="a", timing=QUICK)
        self.task = here.runtime.spawn(lead(here.runtime, here.transport, settings, self._work), "leader")

    async def _work(self, leadership: Leadership) -> None:
        self.terms.append(leadership)
        await self._here.runtime.sleep(3600.0)

    async def leads(self, terms: int) -> None:
        deadline = self._here.soon(60.0)
        while len(self.terms) < terms:
            assert self._here.runtime.monotonic() < deadline, self.terms
            await self._here.runtime.sleep(0.05)

    async def release(self, plane: ControlPlane, term: int) -> Reply:
        """As a leader that has just decided to, on what it reads now."""
        node = plane.api.get("/api/v1/nodes/sick")["metadata"]
        known = Precondition(node["uid"], node["resourceVersion"])
        taint = [{"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}]
        write = merge_patch(NODE, "sick", change={"spec": {"taints": taint}}, only_if=known, manager="test")
        gate = WriteGate(self._here.runtime, self._here.transport, self.terms[term], needing=0.1)
        return await gate.send(as_confirmed(write), self._here.soon(5.0))


@pytest.mark.parametrize("way", list(Way), ids=lambda way: way.name.lower())
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
            # What both promise from here on is lost. The sick one is cut off, and cannot say so.
            for name in (*NODES, *NODES):
                await agents[name].renew()
            assert isinstance(await leader.release(plane, 0), Answer)

            # Beside the loop: the leader goes on meanwhile, as it does elsewhere.
            await asyncio.to_thread(backup.restore)

            assert report_of(plane, "sick") == before
            assert isinstance(await leader.release(plane, 0), Unsent)
            await agents["witness"].renew()
            await agents["witness"].renew()
            assert not contact_of(report_of(plane, "witness")).outlasts(before.replaces)
            await leader.leads(2)
            earlier, later = leader.terms
            assert later.epoch > later.remembers_from >= earlier.epoch
            assert isinstance(await leader.release(plane, 1), Answer)
            leader.task.cancel()
            await leader.task.join()

    run(main())
