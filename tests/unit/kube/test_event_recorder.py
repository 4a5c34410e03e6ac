"""The recorder in virtual time: it never blocks a caller, and gives up on an event that it cannot write."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec
import pytest

from nodemend.api.upstream_types import EventType, ObjectReference
from nodemend.kube.events import Drop, EventLimits, EventRecord, EventRecorder
from nodemend.kube.flowcontrol import Rate
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered
from nodemend.kube.ports import Stream
from nodemend.kube.request import Method, Request
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

DONE = ApiResponse(201, msgspec.json.encode({"metadata": {"uid": "u", "resourceVersion": "1"}}))
ALREADY_EXISTS = ApiResponse(409, msgspec.json.encode({"reason": "AlreadyExists"}))


@dataclass
class Wire:
    """A transport that answers by a rule and records the times of requests."""

    process: SimulatedProcess
    answer: Callable[[Request], Reply] = lambda _: DONE
    sent: list[tuple[float, Request]] = field(default_factory=list)

    async def send(self, request: Request, deadline: float) -> Reply:
        assert deadline > self.process.monotonic()
        self.sent.append((self.process.monotonic(), request))
        await self.process.sleep(0.01)
        return self.answer(request)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        raise NotImplementedError


class World:
    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "a", HostClock())
        self.wire = Wire(self.process)
        limits = EventLimits(repeat_every=100.0, overall=Rate(per_second=2.0, at_once=4))
        self.recorder = EventRecorder(
            self.process, self.wire, controller="nodemend.io/checker", instance="a", limits=limits
        )
        self.process.spawn(self.recorder.run(), "recorder")
        self.run(1.0)

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def record(self, name: str = "n1") -> None:
        regarding = ObjectReference(api_version="v1", kind="Node", name=name, uid=name)
        self.recorder.record(
            EventRecord(regarding, EventType.NORMAL, "Released", "Release", "its pods are free")
        )

    @property
    def methods(self) -> list[Method]:
        return [request.method for _, request in self.wire.sent]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.process.crash()


def test_an_event_is_written_at_once_and_its_repetitions_later(world: World) -> None:
    world.record()
    world.run(1.0)
    assert world.methods == [Method.POST]
    world.record()
    world.run(98.0)
    assert world.methods == [Method.POST]
    world.run(3.0)

    assert world.methods == [Method.POST, Method.PATCH]
    assert world.recorder.counts.written == 2


def test_many_events_at_once_are_spread_over_time(world: World) -> None:
    for number in range(14):
        world.record(f"n{number}")
    world.run(60.0)

    times = [moment for moment, _ in world.wire.sent]
    assert len(times) == 14
    assert times[3] - times[0] < 0.1
    assert times[-1] - times[0] == pytest.approx(5.0, abs=0.1)


def test_an_unreachable_server_costs_the_event_and_nothing_else(world: World) -> None:
    world.wire.answer = lambda _: Unanswered("no answer")
    world.record()
    world.run(30.0)

    assert len(world.wire.sent) == 3
    assert world.recorder.counts.dropped == {Drop.UNREACHABLE: 1}


def test_a_failing_server_is_asked_less_and_less(world: World) -> None:
    world.wire.answer = lambda _: ApiResponse(500, b"")
    for number in range(1000):
        world.record(f"n{number}")
    world.run(600.0)

    assert len(world.wire.sent) < 20


def test_a_server_that_recovered_is_not_punished_for_the_past(world: World) -> None:
    world.wire.answer = lambda _: ApiResponse(500, b"")
    for number in range(2):
        world.record(f"n{number}")
    world.run(120.0)
    world.wire.answer = lambda _: DONE
    world.record("n2")
    world.run(1.0)
    failing = iter([ApiResponse(500, b"")])
    world.wire.answer = lambda _: next(failing, DONE)
    world.record("n3")
    world.run(2.0)

    assert world.recorder.counts.written == 2


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(world: World) -> None:
    world.wire.answer = lambda _: ApiResponse(429, b"", retry_after=20.0)
    world.record()
    world.run(19.0)
    assert len(world.wire.sent) == 1
    world.wire.answer = lambda _: DONE
    world.run(5.0)

    assert world.recorder.counts.written == 1


def test_a_write_that_was_applied_without_a_reply_is_not_repeated(world: World) -> None:
    replies: Iterator[Reply] = iter([Unanswered("no answer"), ALREADY_EXISTS])
    world.wire.answer = lambda _: next(replies)
    world.record()
    world.run(30.0)

    assert len(world.wire.sent) == 2
    assert world.recorder.counts.written == 1
    assert world.recorder.counts.dropped == Counter()


@pytest.mark.parametrize("status", [404, 409])
def test_a_deleted_or_changed_event_is_created_again(world: World, status: int) -> None:
    world.record()
    world.run(1.0)
    world.wire.answer = lambda request: ApiResponse(status, b"") if request.method is Method.PATCH else DONE
    world.record()
    world.run(120.0)

    assert world.methods == [Method.POST, Method.PATCH, Method.POST]


def test_an_event_that_the_server_does_not_take_is_dropped(world: World) -> None:
    world.wire.answer = lambda _: ApiResponse(403, b"")
    world.record()
    world.run(120.0)

    assert len(world.wire.sent) == 1
    assert world.recorder.counts.dropped == {Drop.REFUSED: 1}
