"""Writes pass only inside a term; reads always."""

from dataclasses import dataclass, field, replace

import pytest

from nodemend.api.resources import NODE
from nodemend.kube.leader_election import Record, Term
from nodemend.kube.leader_runner import NOT_CONFIRMED, NOT_LEADING, Leadership, LeaderTransport
from nodemend.kube.outcome import ApiResponse, Reply
from nodemend.kube.ports import Stream
from nodemend.kube.request import EVERYTHING, Precondition, Request, as_confirmed, delete, get, watch
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

WRITE = delete(NODE, "n1", only_if=Precondition("u", "1"))
READ = get(NODE, "n1")
DONE = ApiResponse(200, b"{}")


@dataclass
class Wire:
    """A transport that remembers what it was handed."""

    sent: list[tuple[Request, float]] = field(default_factory=list)

    async def send(self, request: Request, deadline: float) -> Reply:
        self.sent.append((request, deadline))
        return DONE

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self.send(request, deadline)


class World:
    """A process at 100 s on its own clock, leading until 110."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "a", HostClock(started_at=100.0))
        self.wire = Wire()
        record = Record(uid="u", version="5", holder="a", seconds=15, transitions=1)
        self.term = Term(
            epoch=5,
            record=record,
            sent_at=99.0,
            ends_at=110.0,
            safe_until=114.7,
            remembers_from=3,
            remembers_since=90.0,
        )
        self.asked_to_renew: list[float] = []
        self.leadership = Leadership(
            self.term, "a", lambda: self.asked_to_renew.append(self.process.monotonic())
        )
        self.gate = LeaderTransport(self.process, self.wire, self.leadership)

    def at(self, clock: float) -> None:
        self.scheduler.run(clock - 100.0)

    def begin(self, request: Request, deadline: float) -> list[Reply]:
        replies: list[Reply] = []

        async def main() -> None:
            replies.append(await self.gate.send(request, deadline))

        self.process.spawn(main(), "main")
        return replies

    def send(self, request: Request, deadline: float) -> Reply:
        replies = self.begin(request, deadline)
        self.scheduler.run(self.scheduler.now)
        return replies[0]


def test_a_write_in_a_term_passes_with_its_deadline() -> None:
    world = World()

    assert world.send(WRITE, 105.0) == DONE
    assert world.wire.sent == [(WRITE, 105.0)]


def test_a_write_gets_no_longer_than_the_term() -> None:
    world = World()

    world.send(WRITE, 130.0)

    assert world.wire.sent == [(WRITE, 110.0)]


@pytest.mark.parametrize("clock", [109.0, 110.0, 500.0])
def test_a_write_that_might_outlast_the_term_is_not_begun(clock: float) -> None:
    world = World()
    world.at(clock)

    assert world.send(WRITE, clock + 5.0) == NOT_LEADING
    assert world.wire.sent == []


def test_a_write_that_just_fits_is_begun() -> None:
    world = World()
    world.at(108.99)

    assert world.send(WRITE, 120.0) == DONE


def test_nothing_is_written_after_the_term_was_ended_early() -> None:
    world = World()
    world.leadership.end()

    assert world.send(WRITE, 105.0) == NOT_LEADING


def test_reads_pass_at_any_time() -> None:
    world = World()
    world.at(200.0)

    assert world.send(READ, 205.0) == DONE
    assert world.wire.sent == [(READ, 205.0)]


def test_a_process_that_slept_through_the_end_of_its_term_begins_nothing() -> None:
    world = World()
    replies: list[Reply] = []

    async def main() -> None:
        await world.process.sleep(1.0)
        replies.append(await world.gate.send(WRITE, 105.0))

    world.process.spawn(main(), "main")
    world.scheduler.run(0.5)
    world.process.pause(60.0)
    world.scheduler.run(100.0)

    assert replies == [NOT_LEADING]
    assert world.wire.sent == []


def test_streams_are_gated_by_the_same_rule() -> None:
    world = World()
    world.at(200.0)
    replies: list[Stream | Reply] = []
    stream = watch(NODE, EVERYTHING, version="1", seconds=60)

    async def main() -> None:
        replies.append(await world.gate.open(WRITE, 205.0))
        replies.append(await world.gate.open(stream, 205.0))

    world.process.spawn(main(), "main")
    world.scheduler.run(200.0)

    assert replies == [NOT_LEADING, DONE]
    assert world.wire.sent == [(stream, 205.0)]


RELEASE = as_confirmed(WRITE)


@pytest.mark.attack("K1")
def test_a_release_is_sent_only_after_the_lease_was_renewed_once_more() -> None:
    world = World()
    replies = world.begin(RELEASE, 105.0)

    world.at(101.0)
    assert (replies, world.wire.sent) == ([], [])
    assert world.asked_to_renew == [100.0]
    world.leadership.extend(replace(world.term, sent_at=99.9, ends_at=111.0))
    world.at(102.0)
    assert (replies, world.wire.sent) == ([], [])

    world.leadership.extend(replace(world.term, sent_at=100.0, ends_at=111.0))
    world.at(102.1)
    assert (replies, world.wire.sent) == ([DONE], [(RELEASE, 105.0)])


@pytest.mark.attack("K1")
@pytest.mark.parametrize("lost", [True, False], ids=["the term is over", "no answer"])
def test_a_release_is_not_sent_where_the_lease_cannot_be_renewed(lost: bool) -> None:
    """There is no such version any more: etcd was restored."""
    world = World()
    replies = world.begin(RELEASE, 105.0)
    if lost:
        world.leadership.end()

    world.at(106.0)

    assert (replies, world.wire.sent) == ([NOT_CONFIRMED], [])
