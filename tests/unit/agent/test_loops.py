"""The agent's loops in virtual time, over a simulated link to a server of Leases."""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field

import msgspec
import pytest

from nodemend.agent.certificates import CertificateHeld, CertificateStatus, NoCertificate
from nodemend.agent.heartbeat import Heartbeat, HeartbeatCommand, HeartbeatEvent, ParallelReadEnded
from nodemend.agent.heartbeat_loop import FeederTold, HeartbeatLoop
from nodemend.agent.peer_responder import REFUSED_AFTER, PeerResponder, PeerResponderLoop
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState
from nodemend.api.agent import AgentReport, Marker, PeerEntry, WatchdogReport
from nodemend.api.well_known import AGENT_REPORT
from nodemend.protocol.peers import PeerReply
from simulation.network import Link, LinkQuality
from simulation.processes import HostClock, SimulatedProcess, SimulatedTask
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport
from tests.unit.api.lease_server import LeaseServer

ME = AgentIdentity(
    node_uid="uid-1", boot_id="boot-1", watchdog=WatchdogReport(class_="hardware", effective=10.0)
)
DAY = CertificateHeld(life=86_400.0, left=86_000.0)
K = 15.0
MARK = Marker(node_uid="uid-1", boot_id="boot-1", remediation_uid="r-1")


@dataclass
class Files:
    until: float = 0.0
    fence_requested: str = ""
    memory: AgentState | None = None
    disarm_permission: bool = False

    def feed_until(self, until: float) -> None:
        self.until = until

    def fence_now(self, why: str) -> None:
        self.fence_requested = why

    def stop_gracefully(self) -> None:
        self.disarm_permission = True

    def stand_up(self) -> None:
        self.disarm_permission = False

    def remember(self, memory: AgentState) -> None:
        self.memory = memory


@dataclass
class PlayedPeers:
    process: SimulatedProcess
    says: dict[str, PeerReply] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    async def ask(
        self, peers: tuple[PeerEntry, ...], deadline: float
    ) -> AsyncGenerator[tuple[str, PeerReply], None]:
        self.asked.append(tuple(one.name for one in peers))
        for one in peers:
            if one.name in self.says:
                await self.process.sleep(0.1)
                yield one.name, self.says[one.name]
        await self.process.sleep(deadline - self.process.monotonic())


@dataclass
class PlayedFeeder:
    now: FeederTold = field(default_factory=lambda: FeederTold(ME.watchdog, longest_lease=35.0))

    def report(self) -> FeederTold:
        return self.now


@dataclass
class PlayedCertificate:
    holding: CertificateStatus = DAY

    def read_status(self) -> CertificateStatus:
        return self.holding


@dataclass
class Heard:
    events: list[HeartbeatEvent] = field(default_factory=list)

    def stepped(
        self, event: HeartbeatEvent, commands: tuple[HeartbeatCommand, ...], memory: AgentState, now: float
    ) -> None:
        self.events.append(event)


class Stage:
    def __init__(self, slewed: float = 1.0) -> None:
        self.scheduler = Scheduler(1)
        self.server = LeaseServer()
        clock = HostClock(started_at=1000.0, slewed=slewed)
        self.process = SimulatedProcess(self.scheduler, "node-1", clock)
        self.link = Link(self.process, self.server, LinkQuality())
        self.files = Files()
        self.peers = PlayedPeers(self.process)
        self.feeder = PlayedFeeder()
        self.certificate = PlayedCertificate()
        self.heard = Heard()
        named = tuple(PeerEntry(name=name, address=f"{name}:1") for name in ("a", "b", "c", "d"))
        self.watch = Heartbeat(ME, AgentState(active_terms=ActiveTerms(peers=named), fresh=False), chance=0.0)
        self.task: SimulatedTask | None = None

    def start(self) -> None:
        self.loop = HeartbeatLoop(
            node="node-1",
            watch=self.watch,
            runtime=self.process,
            transport=SimulatedTransport(self.link),
            state_files=self.files,
            peers=self.peers,
            feeder=self.feeder,
            certificate=self.certificate,
            listener=self.heard,
        )
        self.task = self.process.spawn(self.loop.run(), "watch")

    def stop(self) -> None:
        """Stop as the program does: cancel running work first."""
        assert self.task is not None
        self.task.cancel()
        self.task = self.process.spawn(self.loop.stop_gracefully(), "standing down")

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    @property
    def fed_for(self) -> float:
        return self.files.until - self.process.monotonic()

    def report(self, node: str) -> AgentReport:
        annotations = self.server.leases[node]["metadata"]["annotations"]
        return msgspec.json.decode(annotations[AGENT_REPORT], type=AgentReport)

    def cut(self) -> None:
        self.link.up = self.link.down = False


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.process.crash()


def test_it_creates_its_lease_renews_it_and_feeds(stage: Stage) -> None:
    stage.start()
    stage.run(60.0)

    assert 10 <= stage.server.renewals <= 12
    assert 29.0 < stage.fed_for <= 35.0
    assert stage.files.memory is not None
    assert stage.files.memory.contact is not None


def test_a_marker_ends_it_within_one_renewal_and_ends_the_loop(stage: Stage) -> None:
    stage.start()
    stage.run(30.0)
    stage.server.mark("node-1", MARK)
    stage.run(6.0)

    assert stage.files.fence_requested == "a marker is on its Lease"
    assert stage.task is not None
    assert stage.task.done


def test_in_a_drill_only_its_watchdog_ends_it(stage: Stage) -> None:
    stage.start()
    stage.run(30.0)
    stage.server.mark("node-1", MARK.but(drill=True))
    stage.run(36.0)

    assert stage.files.fence_requested == ""
    assert stage.fed_for <= 0


def test_cut_off_from_every_peer_it_is_no_longer_fed(stage: Stage) -> None:
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.run(36.0)

    assert stage.fed_for <= 0
    assert len(stage.peers.asked) >= 2


@pytest.mark.slow
@pytest.mark.attack("V2")
@pytest.mark.parametrize(
    "quality",
    [
        pytest.param(LinkQuality(delay=(1.8, 2.3)), id="every answer takes about four seconds"),
        pytest.param(LinkQuality(lost=0.35, reply_lost=0.35), id="seven of ten requests fail"),
        pytest.param(LinkQuality(refused=0.7), id="seven of ten connections are refused"),
    ],
)
def test_an_api_server_that_is_slow_or_lossy_does_not_end_it(stage: Stage, quality: LinkQuality) -> None:
    stage.start()
    stage.run(30.0)
    stage.link.quality = quality
    least = 35.0
    for _ in range(1200):
        stage.run(3.0)
        least = min(least, stage.fed_for)

    assert least > 0


def test_parallel_api_checks_end_with_the_failure_and_with_the_agent(stage: Stage) -> None:
    stage.peers.says = dict.fromkeys(("a", "b", "c", "d"), PeerReply.API_OUT_OF_REACH)
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.run(600.0)
    observations = sum(isinstance(one, ParallelReadEnded) for one in stage.heard.events)
    assert 0 < observations < 40, "not for as long as an outage for all lasts"
    stage.link.up = stage.link.down = True
    stage.run(30.0)
    observations = sum(isinstance(one, ParallelReadEnded) for one in stage.heard.events)
    stage.run(600.0)
    assert sum(isinstance(one, ParallelReadEnded) for one in stage.heard.events) == observations
    stage.cut()
    stage.run(10.0)
    stage.stop()
    stage.run(30.0)
    assert not stage.heard.events[-1:] or not isinstance(stage.heard.events[-1], ParallelReadEnded)


def test_one_peer_with_a_clean_api_check_keeps_it_running(stage: Stage) -> None:
    stage.peers.says = dict.fromkeys(("a", "b", "c", "d"), PeerReply.HEALTHY)
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.run(300.0)

    assert stage.fed_for > 15.0


def test_peers_that_saw_the_marker_end_it(stage: Stage) -> None:
    stage.peers.says = dict.fromkeys(("a", "b", "c", "d"), PeerReply.FENCE_NOW)
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.run(36.0)

    assert stage.files.fence_requested == "peers have seen a marker on its Lease"


def test_cut_off_without_a_certificate_it_lives_on_and_has_published_that_it_promises_nothing(
    stage: Stage,
) -> None:
    stage.certificate.holding = NoCertificate()
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.run(300.0)

    assert stage.report("node-1").peers == ((),)
    assert stage.peers.asked == []
    assert stage.fed_for > 15.0


def test_a_certificate_that_ends_while_it_is_cut_off_changes_nothing_any_more(stage: Stage) -> None:
    """The last published report says that the node fences itself, so it must."""
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.certificate.holding = NoCertificate()
    stage.run(36.0)

    assert stage.report("node-1").peers == (("a", "b", "c", "d"),)
    assert stage.fed_for <= 0


def test_on_stop_it_reports_its_watchdog_unsupported_and_then_writes_the_disarm_permission(
    stage: Stage,
) -> None:
    stage.start()
    stage.run(32.0)
    assert stage.report("node-1").watchdog.class_ == "hardware"
    stage.stop()
    stage.run(2.0)

    reported = stage.report("node-1").watchdog
    assert (reported.class_, reported.why) == ("unsupported", "its agent was stopped: it is fed without one")
    assert stage.files.disarm_permission
    assert stage.task is not None
    assert stage.task.done


def test_on_stop_without_an_acknowledgement_there_is_no_disarm_permission(stage: Stage) -> None:
    stage.start()
    stage.run(30.0)
    stage.cut()
    stage.stop()
    stage.run(60.0)
    assert not stage.files.disarm_permission
    assert stage.fed_for <= 0
    assert stage.peers.asked == []

    stage.link.up = stage.link.down = True
    stage.run(5.0)
    assert stage.files.disarm_permission


def test_a_marker_that_was_there_first_ends_it_stopped_or_not(stage: Stage) -> None:
    stage.start()
    stage.run(32.0)
    stage.server.mark("node-1", MARK)
    stage.stop()
    stage.run(5.0)

    assert not stage.files.disarm_permission
    assert stage.files.fence_requested == "a marker is on its Lease"


# Answering peers.


class Counter(Stage):
    """The same node, as its peers query it."""

    def __init__(self, slewed: float = 1.0) -> None:
        super().__init__(slewed)
        self.responder = PeerResponderLoop(
            runtime=self.process,
            transport=SimulatedTransport(self.link),
            watch=self.watch,
            responder=PeerResponder(),
        )
        self.answers: list[tuple[str, PeerReply]] = []

    def asked(self, node: str, times: int = 1) -> None:
        for number in range(times):
            self.process.spawn(self._ask(node), f"question {number}")

    async def _ask(self, node: str) -> None:
        self.answers.append((node, await self.responder.ask(node, "uid-1", "boot-1", within=2.5)))


@pytest.fixture
def counter() -> Iterator[Counter]:
    counter = Counter()
    yield counter
    counter.process.crash()


@pytest.mark.attack("K5")
@pytest.mark.parametrize("slewed", [0.9, 1.0, 1.1])
def test_it_denies_its_contact_only_after_k_of_true_time_with_any_clock_slew(slewed: float) -> None:
    counter = Counter(slewed)
    counter.start()
    counter.run(600.0)
    renewals, last = counter.server.renewals, 0.0
    while counter.server.renewals == renewals:
        last = counter.scheduler.now
        counter.run(0.1)
    counter.run(0.5)
    counter.cut()
    for second in range(30):
        counter.asked(f"n{second}")
        counter.run(1.0)
    counter.process.crash()
    silent = [answer for _, answer in counter.answers].index(PeerReply.API_OUT_OF_REACH)
    denied = last + 0.6 + silent + 2.0  # One query a second, and each waits for an API check of two seconds.

    assert K <= denied - last < K + 3.0


def test_of_twenty_simultaneous_requests_two_cause_api_checks_and_the_rest_get_silent(
    counter: Counter,
) -> None:
    counter.server.annotate("n", {})
    counter.asked("n", times=20)
    counter.run(3.0)

    assert (
        sorted(answer for _, answer in counter.answers) == [PeerReply.HEALTHY] * 2 + [PeerReply.SILENT] * 18
    )
    assert counter.server.reads == ["n", "n"]


def test_a_refusal_is_delayed_to_limit_the_cost_of_refusing(counter: Counter) -> None:
    counter.server.annotate("n", {})
    counter.asked("n", times=20)
    counter.run(REFUSED_AFTER / 2)
    assert [answer for _, answer in counter.answers if answer is PeerReply.SILENT] == []

    counter.run(REFUSED_AFTER)
    assert [answer for _, answer in counter.answers if answer is PeerReply.SILENT] == [PeerReply.SILENT] * 18


def test_the_state_of_the_lease_is_reported(counter: Counter) -> None:
    counter.server.annotate("n", {})
    counter.server.mark("n", MARK)
    counter.asked("n")
    counter.run(3.0)

    assert counter.answers == [("n", PeerReply.FENCE_NOW)]


def test_a_node_without_the_api_reports_it_only_after_enough_earlier_contact(counter: Counter) -> None:
    counter.cut()
    counter.asked("n")
    counter.run(3.0)
    assert counter.answers == [("n", PeerReply.SILENT)]

    counter.link.up = counter.link.down = True
    counter.start()
    counter.run(30.0)
    counter.cut()
    counter.run(8.0)
    counter.asked("n")
    counter.run(15.0)
    counter.asked("n")
    counter.run(3.0)
    assert counter.answers[1:] == [("n", PeerReply.SILENT), ("n", PeerReply.API_OUT_OF_REACH)]


def test_contact_restored_during_an_api_check_for_a_peer_is_not_denied(counter: Counter) -> None:
    """Its next Lease renewal proves that contact."""
    counter.start()
    counter.run(30.0)
    counter.cut()
    counter.run(K + 10.0)
    counter.link.quality = LinkQuality(delay=(1.0, 1.0))
    counter.link.heal()
    renewals = counter.server.renewals
    while counter.server.renewals == renewals:
        counter.run(0.1)
    counter.link.cut(down=False)  # The acknowledgement is under way; later requests are lost.
    assert counter.watch.out_of_reach(counter.process.unslewed())
    counter.asked("n")
    counter.run(2.4)

    assert not counter.watch.out_of_reach(counter.process.unslewed())
    assert counter.answers == [("n", PeerReply.SILENT)]
