"""Reads of peers for one remediation may serve another from the time when the other's marker was seen."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.agent import MOST_PROPOSED, Marker
from nodemend.api.resources import LEASE, SELF_REMEDIATION
from nodemend.api.self_remediation import SelfRemediation
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply
from nodemend.kube.ports import Stream
from nodemend.kube.request import Request
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.node_state import ConcurrencyTracker, NodeReader
from nodemend.remediation.self_fencing.controller import (
    READ_AT_ONCE,
    AgentReader,
    SelfFencingDriver,
    SelfFencingInputs,
)
from nodemend.remediation.self_fencing.decide import RecordProgress
from nodemend.remediation.switch_guard import ClusterView, RemediatorGuard
from nodemend.safety.lifecycle import LeaderTerm
from nodemend.safety.time_proof import Progress
from simulation.processes import HostClock, SimulatedProcess
from tests.unit.remediation.self_fencing.fencing_world import FencingWorld

LOST = ("node-1", "node-2")
PROGRESS = Progress({}, 1, 72, 0, done=False)


class Place:
    """Two nodes with the same peers, and a separate gatherer beside the running ones."""

    def __init__(self) -> None:
        self.world = FencingWorld("gather", machines=8)
        self.process = SimulatedProcess(self.world.world.scheduler, "gatherer", HostClock())
        self.asked: list[str] = []
        reader = LiveReader(ApiClient(self, self.process), self.process)
        in_progress, view = ConcurrencyTracker(reader), ClusterView(self.process, self)
        switch = RemediatorGuard(view, self.process, in_progress, last_start=0.0)
        self.driver = SelfFencingDriver(
            reader, NodeReader(reader), switch, well_known.SYSTEM_NAMESPACE, LeaderTerm(1, 0, 0.0)
        )

    async def send(self, request: Request, deadline: float) -> Reply:
        self.asked.append(request.path)
        answer: ApiResponse = self.world.world.admin.handle(request)
        return answer

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        raise NotImplementedError

    def mark(self, node: str) -> None:
        lease = self.world.api.get(LEASE, node, well_known.AGENT_NAMESPACE)
        assert lease is not None
        report = msgspec.json.decode(lease["metadata"]["annotations"][well_known.AGENT_REPORT])
        marker = Marker(node_uid=report["nodeUID"], boot_id=report["bootID"], remediation_uid=f"of-{node}")
        noted = {well_known.MARKER: msgspec.json.encode(marker).decode()}
        self.world.api.patch(
            LEASE, node, {"metadata": {"annotations": noted}}, at=(well_known.AGENT_NAMESPACE, "")
        )

    def gather(self, node: str, version: str = "") -> SelfFencingInputs:
        """Gather with the separate gatherer, for the remediation at this version."""
        found: list[SelfFencingInputs] = []

        async def gather() -> None:
            found.append(await self.driver.gather(self._remediation(node, version), None))

        self.process.spawn(gather(), "gather")
        self.world.run(0.01)
        return found[0]

    def peers_asked(self, node: str) -> int:
        """The number of peers that one more gathering for this node reads."""
        before = len(self.asked)
        assert len(self.gather(node).facts.observations) >= 6
        agents = f"/namespaces/{well_known.AGENT_NAMESPACE}/leases/"
        own = f"{agents}{node}"
        return sum(agents in path and not path.endswith(own) for path in self.asked[before:])

    def _remediation(self, node: str, version: str) -> SelfRemediation:
        written: dict[str, Any] = {
            "apiVersion": SELF_REMEDIATION.api_version,
            "kind": SELF_REMEDIATION.kind,
            "metadata": {
                "name": node,
                "namespace": well_known.SYSTEM_NAMESPACE,
                "uid": f"of-{node}",
                "resourceVersion": version,
            },
            "spec": {},
            "status": {"phase": "Fencing", "nodeName": node, "bootID": f"{node}-boot-1"},
        }
        return msgspec.convert(written, SelfRemediation)


@pytest.fixture
def place() -> Iterator[Place]:
    found = Place()
    yield found
    found.world.close()


def test_the_first_round_after_a_marker_asks_all_peers_even_recently_asked_ones(
    place: Place,
) -> None:
    place.mark(LOST[0])
    assert place.peers_asked(LOST[0]) == 7
    place.mark(LOST[1])

    assert place.peers_asked(LOST[1]) == 7


def test_from_then_on_both_share_what_either_sees(place: Place) -> None:
    for node in LOST:
        place.mark(node)
        place.peers_asked(node)
    place.world.run(1.0)

    assert place.peers_asked(LOST[0]) == 7
    # Of its peers, only the other lost node itself has not been read.
    assert place.peers_asked(LOST[1]) == 1


def test_seconds_that_another_manager_has_counted_are_not_counted_again(place: Place) -> None:
    """Another manager wrote this version, which may already include the time that had passed by then."""
    place.mark(LOST[0])
    place.gather(LOST[0], "1")
    place.world.run(20.0)
    assert place.gather(LOST[0], "1").facts.passed >= 20.0

    assert place.gather(LOST[0], "2").facts.passed < 1.0
    place.world.run(5.0)
    assert 5.0 <= place.gather(LOST[0], "2").facts.passed < 6.0


@pytest.mark.parametrize("slewed", [0.9, 1.1])
def test_what_has_passed_is_counted_by_the_slower_clock(place: Place, slewed: float) -> None:
    """A time daemon slews one of the clocks: a proof must not be complete too early."""
    place.mark(LOST[0])
    place.process.clock.slewed, place.process.clock.slewed_from = slewed, place.world.world.scheduler.now
    place.gather(LOST[0], "1")
    place.world.run(20.0)

    assert place.gather(LOST[0], "1").facts.passed <= 20.1 * min(1.0, slewed)


def test_seconds_that_are_already_counted_are_not_counted_again(place: Place) -> None:
    place.mark(LOST[0])
    place.gather(LOST[0], "1")
    place.world.run(20.0)
    place.driver.wrote(place.gather(LOST[0], "1"), RecordProgress(PROGRESS), "2")
    place.world.run(5.0)

    assert 5.0 <= place.gather(LOST[0], "2").facts.passed < 6.0


@pytest.mark.attack("S14")
def test_peers_are_read_side_by_side_and_never_more_than_a_few_at_once(place: Place) -> None:
    reading: list[int] = [0, 0]

    class SlowServer(Place):
        def __init__(self) -> None:
            """A second gatherer in the same world."""

        async def send(self, request: Request, deadline: float) -> Reply:
            reading[0] += 1
            reading[1] = max(reading)
            await place.process.sleep(0.5)
            reading[0] -= 1
            return await place.send(request, deadline)

    observations = AgentReader(LiveReader(ApiClient(SlowServer(), place.process), place.process))
    found: list[int] = []

    async def read() -> None:
        names = tuple(f"node-{number}" for number in range(1, 2 * MOST_PROPOSED + 1))
        found.append(len(await observations.at_peers(names, since=0.0)))

    place.process.spawn(read(), "read")
    place.world.run(0.5 * 2 * MOST_PROPOSED / READ_AT_ONCE + 0.5)

    assert found == [8]
    assert reading[1] == READ_AT_ONCE
