"""Live reads of peers are shared within a second, but never with reads from before a marker was seen."""

import msgspec
import pytest

from nodemend.api.agent import AgentReport, WatchdogReport
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply
from nodemend.kube.ports import Stream
from nodemend.kube.request import Request
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.self_fencing.controller import SHARED_FOR, AgentReader
from nodemend.safety.facts import Present, ReadResult
from nodemend.safety.time_proof import AgentFacts, PeerObservation
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

PEER = "node-2"
K = 15.0


class Place:
    """One peer whose Lease has a sequence number, and a connection with a settable delay."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("looks")
        self.process = SimulatedProcess(self.scheduler, "remediator", HostClock())
        self.reports_from: int | None = 0
        self.version = 50
        self.observations = AgentReader(
            LiveReader(ApiClient(self, self.process), self.process, reports_from=lambda: self.reports_from)
        )
        self.sequence, self.readable = 7, True
        self.back_after = 0.0
        self.asked = 0

    async def send(self, request: Request, deadline: float) -> Reply:
        self.asked += 1
        found = self._lease() if self.readable else ApiResponse(500, b"{}")
        await self.process.sleep(self.back_after)
        return found

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        raise NotImplementedError

    def _lease(self) -> ApiResponse:
        report = AgentReport(
            node_uid="uid",
            boot_id="boot",
            sequence=self.sequence,
            acknowledged=self.sequence - 1,
            steady_since=1,
            feed_lease=35.0,
            contact_age=K,
            watchdog=WatchdogReport(class_="hardware", effective=10.0),
        )
        noted = {AGENT_REPORT: msgspec.json.encode(report).decode()}
        metadata = {
            "name": PEER,
            "namespace": AGENT_NAMESPACE,
            "uid": "lease",
            "resourceVersion": str(self.version),
        }
        return ApiResponse(
            200, msgspec.json.encode({"metadata": {**metadata, "annotations": noted}, "spec": {}})
        )

    def begin(self, *, since: float = 0.0) -> list[dict[str, PeerObservation]]:
        """Start a live read; when it has ended, its result is in the list."""
        shown: list[dict[str, PeerObservation]] = []

        async def observe() -> None:
            shown.append(await self.observations.at_peers((PEER,), since))

        self.process.spawn(observe(), "look")
        return shown

    def observe(self, *, since: float = 0.0) -> int | None:
        """Read live and return the sequence number, or None if the read failed."""
        shown = self.begin(since=since)
        self.pass_(self.back_after + 0.01)
        return shown[0][PEER].contact.sequence if shown[0] else None

    def observe_node(self) -> ReadResult[AgentFacts]:
        shown: list[ReadResult[AgentFacts]] = []

        async def observe() -> None:
            shown.append(await self.observations.at_node(PEER))

        self.process.spawn(observe(), "look")
        self.pass_(0.01)
        return shown[0]

    def pass_(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_recent_peer_read_is_shared(place: Place) -> None:
    assert place.observe() == 7
    place.sequence = 8

    assert place.observe() == 7
    assert place.asked == 1


def test_an_older_one_is_not(place: Place) -> None:
    place.observe()
    place.sequence = 8
    place.pass_(SHARED_FOR)

    assert place.observe() == 8


def test_one_from_before_the_marker_was_seen_is_not(place: Place) -> None:
    place.observe()
    place.sequence = 8

    assert place.observe(since=place.process.monotonic()) == 8


def test_a_peer_read_counts_from_the_time_of_its_request(place: Place) -> None:
    place.back_after = SHARED_FOR
    place.observe()
    place.back_after, place.sequence = 0.0, 8

    assert place.observe() == 8


def test_after_a_failed_peer_read_the_next_caller_tries(place: Place) -> None:
    place.readable = False
    assert place.observe() is None
    place.readable = True

    assert place.observe() == 7


def test_an_answer_that_comes_late_does_not_replace_what_was_asked_later(place: Place) -> None:
    place.back_after = 0.4
    slow = place.begin()
    place.pass_(0.1)
    place.back_after, place.sequence = 0.1, 8
    quick = place.begin(since=place.process.monotonic())
    place.pass_(0.5)

    assert [shown[0][PEER].contact.sequence for shown in (slow, quick)] == [8, 8]
    assert place.observe() == 8


@pytest.mark.attack("K5")
@pytest.mark.parametrize("slewed", [1.0, 0.9, 1.1])
def test_a_peer_is_covered_only_as_long_as_both_clocks_allow(place: Place, slewed: float) -> None:
    """Its last acknowledged renewal came after the read that did not show it: K from there at most."""
    place.process.clock.slewed, place.process.clock.slewed_from = slewed, place.scheduler.now
    place.observe()
    place.pass_(2.0)
    place.sequence = 9
    shown = place.begin()
    place.pass_(13.0)

    until = shown[0][PEER].covered_until
    assert until is not None
    assert place.observations.moment().most >= until


def test_a_slow_answer_extends_no_peer_s_coverage(place: Place) -> None:
    """A renewal that a read did not show may have been stored right after the request."""
    place.back_after = 4.0
    asked_at = place.observations.moment().most
    place.observe()
    place.back_after, place.sequence = 0.0, 8
    place.pass_(SHARED_FOR)
    place.observe()
    place.pass_(SHARED_FOR)
    place.sequence = 9
    shown = place.begin()
    place.pass_(0.01)

    # Number 8 is acknowledged. The last read without it was the slow one.
    until = shown[0][PEER].covered_until
    assert until is not None
    assert until <= asked_at + K


@pytest.mark.attack("S6")
@pytest.mark.parametrize(
    ("reports_from", "counts"), [(0, True), (49, True), (50, False), (51, False), (None, False)]
)
def test_a_lease_that_another_agent_could_have_written_says_nothing(
    place: Place, reports_from: int | None, counts: bool
) -> None:
    place.reports_from = reports_from

    assert (place.observe() is not None) == counts
    found = place.observe_node()
    assert isinstance(found, Present)
    assert (found.value.report is not None) == counts
    assert ("another agent could have written it" in found.value.problem) != counts
    # Its marker is read all the same, since it must be removed.
    assert found.value.version == "50"


@pytest.mark.attack("S6")
def test_what_we_write_on_it_makes_its_report_no_truer(place: Place) -> None:
    place.reports_from = 60
    assert place.observe() is None
    place.version = 70

    assert place.observe() is None
    place.sequence, place.version = 8, 80
    assert place.observe() == 8
