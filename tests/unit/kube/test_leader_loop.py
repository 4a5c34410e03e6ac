"""The election loop in virtual time, over one simulated Lease."""

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from nodemend.kube.leader_runner import ElectionSettings, Leadership, Work, WorkOverranError, lead
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import LeaseAddress, Method, Request
from simulation.cluster.replicas import Silent
from simulation.network import Link, LinkQuality, ServedWatch
from simulation.processes import HostClock, SimulatedProcess, SimulatedTask
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

ADDRESS = LeaseAddress("checker", "nodemend-system")


@dataclass
class OneLease:
    """A server that knows one Lease, compare-and-swap and nothing else."""

    lease: dict[str, Any] | None = None
    revisions: "itertools.count[int]" = field(default_factory=lambda: itertools.count(10))
    broken: Callable[[Request], ApiResponse | None] = lambda _: None

    def handle(self, request: Request) -> ApiResponse:
        if fault := self.broken(request):
            return fault
        if request.method is Method.POST:
            return (
                ApiResponse(409, b"") if self.lease else self._store(msgspec.json.decode(request.body), 201)
            )
        if self.lease is None:
            return ApiResponse(404, b"")
        if request.method is Method.GET:
            return ApiResponse(200, msgspec.json.encode(self.lease))
        patch = msgspec.json.decode(request.body)
        known, wanted = self.lease["metadata"], patch["metadata"]
        if any(known[key] != wanted[key] for key in ("uid", "resourceVersion")):
            return ApiResponse(409, b"")
        return self._store({"metadata": wanted, "spec": self.lease["spec"] | patch["spec"]}, 200)

    def _store(self, lease: dict[str, Any], status: int) -> ApiResponse:
        version = str(next(self.revisions))
        uid = self.lease["metadata"]["uid"] if self.lease else f"uid-{version}"
        reported = lease["metadata"].get("annotations", {})
        annotations = {key: value for key, value in reported.items() if value is not None}
        lease["metadata"] = {"uid": uid, "resourceVersion": version, "annotations": annotations}
        self.lease = lease
        return ApiResponse(status, msgspec.json.encode(lease))

    def watch(self, request: Request) -> ServedWatch | ApiResponse:
        raise NotImplementedError

    def delete(self) -> None:
        self.lease = None

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"]).partition("_")[0] if self.lease else "(absent)"


@dataclass
class Watcher:
    """The calls that an observer got, as text."""

    process: SimulatedProcess
    story: list[str] = field(default_factory=list)

    def began(self, epoch: int) -> None:
        self._tell(f"began {epoch}")

    def renewed(self, left: float) -> None:
        assert left > 0

    def ended(self, epoch: int, why: str) -> None:
        self._tell(f"ended {epoch}: {why}")

    def stumbled(self, why: str) -> None:
        self._tell(why)

    def _tell(self, text: str) -> None:
        self.story.append(text)


@dataclass
class Replica:
    """One process that campaigns."""

    process: SimulatedProcess
    link: Link
    watcher: Watcher
    terms: list[Leadership] = field(default_factory=list)
    task: SimulatedTask | None = None

    def start(self, work: Work) -> None:
        settings = ElectionSettings(lease=ADDRESS, candidate=self.process.name)

        async def noted(leadership: Leadership) -> None:
            self.terms.append(leadership)
            await work(leadership)

        campaign = lead(self.process, SimulatedTransport(self.link), settings, noted, self.watcher)
        self.task = self.process.spawn(campaign, "campaign")

    def leads(self) -> bool:
        return bool(self.terms) and self.terms[-1].may_begin(self.process.monotonic(), 0.0)

    async def toil(self, leadership: Leadership) -> None:
        """Work that ends only when it is cancelled."""
        while True:
            await self.process.sleep(1.0)


class World:
    def __init__(self, seed: int = 1) -> None:
        self.scheduler = Scheduler(seed)
        self.server = OneLease()
        self._processes: list[SimulatedProcess] = []

    def replica(self, name: str) -> Replica:
        process = SimulatedProcess(self.scheduler, name, HostClock(started_at=1000.0))
        self._processes.append(process)
        return Replica(process, Link(process, self.server, LinkQuality()), Watcher(process))

    def leader(self, name: str = "a") -> Replica:
        """A replica that has led for a while."""
        replica = self.replica(name)
        replica.start(replica.toil)
        self.scheduler.run(30.0)
        assert replica.leads()
        return replica

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def end(self) -> None:
        for process in self._processes:
            process.crash()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.end()


def test_the_first_replica_leads_after_one_lease_duration(world: World) -> None:
    first = world.replica("a")
    first.start(first.toil)

    world.run(14.9)
    assert not first.leads()
    world.run(1.0)

    assert first.leads()
    assert world.server.holder == "a"


def test_leadership_lasts_while_it_is_renewed(world: World) -> None:
    first = world.leader()

    world.run(600.0)

    assert first.leads()
    assert len(first.terms) == 1


def test_the_epoch_is_the_version_that_the_claim_was_given(world: World) -> None:
    first = world.leader()

    assert first.watcher.story == [f"began {first.terms[0].epoch}"]
    assert first.terms[0].epoch == 11  # 10 created the Lease, 11 claimed it


def test_a_hung_path_ends_the_work_before_another_leads(world: World) -> None:
    first, second = world.leader("a"), world.replica("b")
    second.start(second.toil)
    world.run(5.0)
    first.link.cut()

    world.run(11.0)
    assert not first.leads()
    assert first.watcher.story[-1] == "ended 11: not renewed in time"
    assert not second.leads()
    world.run(9.0)

    assert second.leads()
    assert second.terms[-1].epoch > first.terms[-1].epoch


def test_one_lost_answer_costs_nothing(world: World) -> None:
    first = world.leader()
    first.link.cut(up=False)
    world.run(4.0)
    first.link.heal()
    world.run(60.0)

    assert first.leads()
    assert len(first.terms) == 1


def test_a_deleted_lease_ends_the_term_and_the_next_epoch_is_higher(world: World) -> None:
    first = world.leader()
    world.server.delete()

    world.run(3.0)
    assert not first.leads()
    world.run(20.0)

    assert first.leads()
    assert first.terms[1].epoch > first.terms[0].epoch
    assert world.server.lease is not None
    assert world.server.lease["spec"]["leaseTransitions"] == 1  # it was reset, and nothing relies on it


def test_a_lease_taken_by_hand_ends_the_term_at_once(world: World) -> None:
    first = world.leader()
    assert world.server.lease is not None
    world.server.lease["spec"]["holderIdentity"] = "somebody"
    world.server.lease["metadata"]["resourceVersion"] = str(next(world.server.revisions))

    world.run(3.0)

    assert not first.leads()
    assert first.watcher.story[-1] == "ended 11: the Lease is held by somebody"


def test_an_api_server_in_trouble_is_reported_and_outlived(world: World) -> None:
    first = world.leader()
    world.server.broken = lambda _: ApiResponse(500, b"")
    world.run(6.0)
    world.server.broken = lambda _: None
    world.run(10.0)

    assert first.leads()
    assert "the server answered 500: " in first.watcher.story
    assert len(first.terms) == 1


def test_a_process_that_sleeps_through_its_term_wakes_up_without_it(world: World) -> None:
    first = world.leader()
    seen: list[bool] = []
    first.process.schedule(lambda: seen.append(first.leads()), after=5.0)
    first.process.pause(12.0)
    world.run(13.0)

    assert seen == [False]


def test_cancelling_stops_the_work_and_then_gives_up_the_lease(world: World) -> None:
    first = world.replica("a")
    holder_at_end: list[str] = []

    async def tidy(leadership: Leadership) -> None:
        try:
            await first.toil(leadership)
        finally:
            await first.process.sleep(1.0)
            holder_at_end.append(world.server.holder)

    first.start(tidy)
    world.run(20.0)
    assert first.task is not None
    first.task.cancel()
    world.run(2.0)

    assert first.task.done
    assert holder_at_end == ["a"]
    assert world.server.holder == ""


@pytest.mark.parametrize("seed", range(8))
def test_a_cancellation_at_the_start_of_a_term_releases_the_lease(seed: int) -> None:
    """The leader's work may have made its first step or not."""
    world = World(seed)
    first = world.replica("a")
    first.start(first.toil)

    while not first.watcher.story:
        world.scheduler.run(world.scheduler.now + 60.0, stop=lambda: bool(first.watcher.story))
    assert first.task is not None
    first.task.cancel()
    world.run(3.0)

    assert first.task.done
    assert first.task.error is None
    assert world.server.holder == ""
    world.end()


def test_a_released_lease_is_taken_over_in_a_few_seconds(world: World) -> None:
    first, second = world.leader("a"), world.replica("b")
    second.start(second.toil)
    world.run(5.0)
    assert first.task is not None
    first.task.cancel()

    world.run(5.0)

    assert second.leads()


def test_work_that_ends_by_itself_gives_up_the_lease_and_ends_the_campaign(world: World) -> None:
    first = world.replica("a")

    async def short(_: Leadership) -> None:
        await first.process.sleep(5.0)

    first.start(short)
    world.run(30.0)

    assert first.task is not None
    assert first.task.done
    assert world.server.holder == ""


def test_an_exception_of_the_work_is_raised_after_the_lease_is_released(world: World) -> None:
    first = world.replica("a")
    caught: list[str] = []

    async def failing(_: Leadership) -> None:
        raise LookupError("broken")

    async def main() -> None:
        settings = ElectionSettings(lease=ADDRESS, candidate="a")
        try:
            await lead(first.process, SimulatedTransport(first.link), settings, failing, Silent())
        except LookupError:
            caught.append(world.server.holder)

    first.process.spawn(main(), "main")
    world.run(30.0)

    assert caught == [""]


def test_work_that_does_not_stop_in_time_is_an_error_and_keeps_the_lease(world: World) -> None:
    first = world.replica("a")
    caught: list[float] = []

    async def stubborn(leadership: Leadership) -> None:
        try:
            await first.toil(leadership)
        finally:
            await first.process.sleep(3600.0)

    async def main() -> None:
        settings = ElectionSettings(lease=ADDRESS, candidate="a")
        try:
            await lead(first.process, SimulatedTransport(first.link), settings, stubborn, Silent())
        except WorkOverranError:
            caught.append(world.scheduler.now)

    first.process.spawn(main(), "main")
    world.run(20.0)
    cut_at = world.scheduler.now
    first.link.cut()
    world.run(20.0)

    assert len(caught) == 1
    assert caught[0] - cut_at < 15.0
    assert world.server.holder == "a"


def test_a_campaign_cancelled_while_its_work_winds_down_still_waits_for_it(world: World) -> None:
    first = world.replica("a")
    ended: list[str] = []

    async def slow(leadership: Leadership) -> None:
        try:
            await first.toil(leadership)
        finally:
            await first.process.sleep(3.0)
            ended.append("work")

    first.start(slow)
    world.run(30.0)
    world.server.delete()
    while first.leads():
        world.run(0.1)
    assert first.task is not None
    first.task.cancel()
    world.run(1.0)
    assert ended == []
    world.run(5.0)

    assert ended == ["work"]
    assert first.task.done
    assert first.task.error is None


@pytest.mark.attack("K1")
@pytest.mark.parametrize("restored", [False, True])
def test_what_a_leader_remembers_outlives_it_where_others_watch_it_and_no_restore(
    world: World, *, restored: bool
) -> None:
    first = world.leader("first")
    backup = copy.deepcopy(world.server.lease)
    second = world.replica("second")
    second.start(second.toil)
    world.run(20.0)
    first.process.crash()
    if restored:
        world.server.lease = backup
    world.run(40.0)
    assert second.leads()
    third = world.replica("third")
    third.start(third.toil)
    world.run(20.0)
    second.process.crash()
    world.run(40.0)
    assert third.leads()

    epochs = first.terms[0].epoch, second.terms[0].epoch, third.terms[0].epoch
    remembered = [epoch > third.terms[0].remembers_from for epoch in epochs]
    assert remembered == [not restored, True, True]


def test_every_start_is_another_candidate(world: World) -> None:
    first = world.leader("a")
    assert first.task is not None
    first.task.cancel()
    world.run(3.0)
    first.start(first.toil)
    world.run(5.0)

    assert first.terms[0].identity.startswith("a_")
    assert first.terms[1].identity.startswith("a_")
    assert first.terms[0].identity != first.terms[1].identity


@pytest.mark.parametrize("seed", range(5))
def test_only_one_of_many_candidates_leads(seed: int) -> None:
    world = World(seed)
    replicas = [world.replica(name) for name in "abcde"]
    for replica in replicas:
        replica.start(replica.toil)

    world.run(30.0)

    assert sum(replica.leads() for replica in replicas) == 1
    world.end()
