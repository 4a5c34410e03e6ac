"""What one remediation reads of peers may serve another, from when that one's own marker was seen."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nodemend.api import keys
from nodemend.api.agent_lease import MOST_PROPOSED, Marker
from nodemend.api.group_versions import LEASE, SELF_REMEDIATION
from nodemend.api.self_remediation import SelfRemediation
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.remediating.at_work import AtWork
from nodemend.controllers.remediating.cluster_view import ClusterView
from nodemend.controllers.remediating.surroundings import Surroundings
from nodemend.controllers.remediating.switch_guard import SwitchGuard
from nodemend.controllers.self_remediation.agent_looks import READ_AT_ONCE, AgentLooks
from nodemend.controllers.self_remediation.gather import Gathered, Gatherer
from nodemend.decide.remediation_life import Tenure
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_reply import Answer, Reply
from nodemend.kube.api_request import Request
from nodemend.kube.ports import Stream
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.testing.processes import HostClock, SimulatedProcess
from tests.unit.controllers.self_remediation.fencing_world import FencingWorld

LOST = ("node-1", "node-2")


class Place:
    """Two nodes whose peers are the same, and a gatherer of our own beside those that run there."""

    def __init__(self) -> None:
        self.world = FencingWorld("gather", machines=8)
        self.process = SimulatedProcess(self.world.world.scheduler, "gatherer", HostClock())
        self.asked: list[str] = []
        reader = Reader(ApiClient(self, self.process), self.process)
        at_work, view = AtWork(reader), ClusterView(self.process, self, ReflectorTimings())
        switch = SwitchGuard(view, self.process, at_work, last_start=0.0)
        self.gatherer = Gatherer(reader, Surroundings(reader, at_work), switch, keys.SYSTEM_NAMESPACE)

    async def send(self, request: Request, deadline: float) -> Reply:
        self.asked.append(request.path)
        answer: Answer = self.world.world.admin.handle(request)
        return answer

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        raise NotImplementedError

    def mark(self, node: str) -> None:
        lease = self.world.api.get(LEASE, node, keys.AGENT_NAMESPACE)
        assert lease is not None
        report = msgspec.json.decode(lease["metadata"]["annotations"][keys.AGENT_REPORT])
        marker = Marker(node_uid=report["nodeUID"], boot_id=report["bootID"], remediation_uid=f"of-{node}")
        noted = {keys.MARKER: msgspec.json.encode(marker).decode()}
        self.world.api.patch(LEASE, node, {"metadata": {"annotations": noted}}, at=(keys.AGENT_NAMESPACE, ""))

    def gather(self, node: str, version: str = "") -> Gathered:
        """By our own gatherer, with the remediation at this version of it."""
        found: list[Gathered] = []

        async def gather() -> None:
            found.append(await self.gatherer.gather(self._remediation(node, version), Tenure(1, 0, 0.0)))

        self.process.spawn(gather(), "gather")
        self.world.run(0.01)
        return found[0]

    def peers_asked(self, node: str) -> int:
        """How many of them are read for one more look at this node."""
        before = len(self.asked)
        assert len(self.gather(node).facts.looks) >= 6
        agents = f"/namespaces/{keys.AGENT_NAMESPACE}/leases/"
        own = f"{agents}{node}"
        return sum(agents in path and not path.endswith(own) for path in self.asked[before:])

    def _remediation(self, node: str, version: str) -> SelfRemediation:
        written: dict[str, Any] = {
            "apiVersion": SELF_REMEDIATION.api_version,
            "kind": SELF_REMEDIATION.kind,
            "metadata": {
                "name": node,
                "namespace": keys.SYSTEM_NAMESPACE,
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


def test_the_first_look_after_a_marker_asks_all_peers_also_those_whom_another_has_just_asked(
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
    # Of its peers it is only the other lost one itself that nobody has asked.
    assert place.peers_asked(LOST[1]) == 1


def test_seconds_that_another_manager_has_counted_are_not_counted_again(place: Place) -> None:
    """It wrote a version that we did not: whatever had passed by then may stand in it."""
    place.mark(LOST[0])
    place.gather(LOST[0], "1")
    place.world.run(20.0)
    assert place.gather(LOST[0], "1").facts.passed >= 20.0

    assert place.gather(LOST[0], "2").facts.passed < 1.0
    place.world.run(5.0)
    assert 5.0 <= place.gather(LOST[0], "2").facts.passed < 6.0


@pytest.mark.parametrize("slewed", [0.9, 1.1])
def test_what_has_passed_is_counted_by_the_slower_clock(place: Place, slewed: float) -> None:
    """Whoever keeps the time slews one of them: a proof must not be done before its time."""
    place.mark(LOST[0])
    place.process.clock.slewed, place.process.clock.slewed_from = slewed, place.world.world.scheduler.now
    place.gather(LOST[0], "1")
    place.world.run(20.0)

    assert place.gather(LOST[0], "1").facts.passed <= 20.1 * min(1.0, slewed)


def test_seconds_that_we_have_counted_ourselves_are_not_counted_again(place: Place) -> None:
    place.mark(LOST[0])
    place.gather(LOST[0], "1")
    place.world.run(20.0)
    place.gatherer.counted(place.gather(LOST[0], "1"), "2")
    place.world.run(5.0)

    assert 5.0 <= place.gather(LOST[0], "2").facts.passed < 6.0


@pytest.mark.attack("S14")
def test_peers_are_read_side_by_side_and_never_more_than_a_few_at_once(place: Place) -> None:
    reading: list[int] = [0, 0]

    class SlowServer(Place):
        def __init__(self) -> None:
            """In the same world."""

        async def send(self, request: Request, deadline: float) -> Reply:
            reading[0] += 1
            reading[1] = max(reading)
            await place.process.sleep(0.5)
            reading[0] -= 1
            return await place.send(request, deadline)

    looks = AgentLooks(Reader(ApiClient(SlowServer(), place.process), place.process))
    found: list[int] = []

    async def read() -> None:
        names = tuple(f"node-{number}" for number in range(1, 2 * MOST_PROPOSED + 1))
        found.append(len(await looks.at_peers(names, since=0.0)))

    place.process.spawn(read(), "read")
    place.world.run(0.5 * 2 * MOST_PROPOSED / READ_AT_ONCE + 0.5)

    assert found == [8]
    assert reading[1] == READ_AT_ONCE
