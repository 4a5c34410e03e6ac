"""Calls fail at once and give the reason; the client respects the server's Retry-After."""

from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
import pytest

from nodemend.api.resources import NODE
from nodemend.kube.client import ApiClient
from nodemend.kube.flowcontrol import Rate
from nodemend.kube.outcome import Acknowledged, ApiResponse, Ok, Reason, Refused, Reply
from nodemend.kube.request import Precondition, Request, delete, get
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

T = TypeVar("T")

_READ = get(NODE, "n")
_WRITE = delete(NODE, "n", only_if=Precondition("u", "1"))
_FINE = ApiResponse(200, b"{}")


class World:
    """A client and a server that gives the replies in order."""

    def __init__(self, *replies: Reply, rate: Rate = Rate()) -> None:  # noqa: B008 - frozen
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "client", HostClock())
        left = list(replies)
        self.transport = ScriptedTransport(self.process, lambda _: left.pop(0) if left else _FINE)
        self.client = ApiClient(self.transport, self.process, rate)

    def call(self, work: Coroutine[Any, Any, T], takes: float = 0.0) -> T:
        kept: list[T] = []

        async def keep() -> None:
            kept.append(await work)

        self.process.spawn(keep(), "call")
        self.scheduler.run(self.scheduler.now + takes)
        (value,) = kept
        return value

    def read(self) -> object:
        return self.call(self.client.read(_READ, Acknowledged, deadline=self.scheduler.now + 1))

    def write(self) -> object:
        return self.call(self.client.write(_WRITE, Acknowledged, deadline=self.scheduler.now + 1))

    def pass_time(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)


def test_a_call_is_one_request_and_one_outcome() -> None:
    world = World(_FINE, ApiResponse(404, b'{"message":"no"}'))

    assert world.read() == Ok(Acknowledged())
    assert world.write() == Refused(Reason.NOT_FOUND, "no")
    assert [request for _, request in world.transport.asked] == [_READ, _WRITE]


@pytest.mark.parametrize(
    "answer", [ApiResponse(429, b"{}", retry_after=7.0), ApiResponse(503, b"{}", retry_after=7.0)]
)
def test_after_the_server_asked_for_quiet_nothing_is_sent_until_then(answer: ApiResponse) -> None:
    world = World(answer)
    world.read()

    world.pass_time(6.0)
    assert world.write() == Refused(Reason.THROTTLED, "the server requested a pause", 1.0)
    assert len(world.transport.asked) == 1

    world.pass_time(1.0)
    assert world.write() == Ok(Acknowledged())


def test_a_missing_retry_after_is_one_second_and_a_long_one_is_limited() -> None:
    brief, endless = World(ApiResponse(429, b"{}")), World(ApiResponse(429, b"{}", retry_after=1e9))
    brief.read()
    endless.read()

    brief.pass_time(1.0)
    endless.pass_time(120.0)

    assert brief.read() == endless.read() == Ok(Acknowledged())


def test_an_eviction_that_a_budget_refuses_slows_no_other_request() -> None:
    status = {"details": {"causes": [{"reason": "DisruptionBudget"}]}, "message": "budget"}
    world = World(ApiResponse(429, msgspec.json.encode(status), retry_after=10.0))

    assert world.write() == Refused(Reason.THROTTLED, "budget", 10.0)
    assert world.read() == Ok(Acknowledged())


def test_the_client_s_own_rate_limit_is_an_outcome_too() -> None:
    world = World(rate=Rate(per_second=2, at_once=1))

    assert world.read() == Ok(Acknowledged())
    assert world.read() == Refused(Reason.THROTTLED, "the client's own rate limit is reached", 0.5)
    assert len(world.transport.asked) == 1


def test_what_can_wait_shares_the_rate_with_what_cannot() -> None:
    world = World(rate=Rate(per_second=2, at_once=2))
    patient = world.client.leaving(1)

    def read_patiently() -> object:
        return world.call(patient.read(_READ, Acknowledged, deadline=world.scheduler.now + 1))

    assert read_patiently() == Ok(Acknowledged())
    assert read_patiently() == Refused(Reason.THROTTLED, "the client's own rate limit is reached", 0.5)
    assert world.read() == Ok(Acknowledged())


def test_a_queued_request_waits_for_its_turn_as_long_as_the_deadline_allows() -> None:
    world = World(rate=Rate(per_second=2, at_once=2))
    queuing = world.client.leaving(1, queues=True)

    def read(within: float, takes: float) -> object:
        asked = queuing.read(_READ, Acknowledged, deadline=world.scheduler.now + within)
        return world.call(asked, takes)

    assert read(within=0.6, takes=0.0) == Ok(Acknowledged())
    assert read(within=0.6, takes=0.5) == Ok(Acknowledged())
    assert read(within=0.4, takes=0.0) == Refused(
        Reason.THROTTLED, "the client's own rate limit is reached", 0.5
    )
    assert world.read() == Ok(Acknowledged())  # One call's rate was left.


def test_who_queues_waits_no_shorter_than_a_clock_can_show() -> None:
    """Numbers are rounded: at this time of day a billionth of a permit is missing after the wait for it."""
    world = World(rate=Rate(per_second=3, at_once=2))
    queuing = world.client.leaving(1, queues=True)
    world.pass_time(495.94)

    for takes in (0.0, 0.4):
        asked = queuing.read(_READ, Acknowledged, deadline=world.scheduler.now + 1.0)
        assert world.call(asked, takes) == Ok(Acknowledged())


def test_who_queues_keeps_quiet_for_as_long_as_the_server_asked() -> None:
    world = World(ApiResponse(429, b"{}", retry_after=7.0))
    world.read()
    asked = world.client.leaving(1, queues=True).read(_READ, Acknowledged, deadline=8.0)

    assert world.call(asked, takes=7.0) == Ok(Acknowledged())
    assert len(world.transport.asked) == 2


def test_what_can_wait_keeps_the_quiet_that_the_server_asked_another_for() -> None:
    world = World(ApiResponse(429, b"{}", retry_after=7.0))
    world.read()

    asked = world.client.leaving(1).read(_READ, Acknowledged, deadline=world.scheduler.now + 1)

    assert world.call(asked) == Refused(Reason.THROTTLED, "the server requested a pause", 7.0)


def test_a_write_cannot_pass_for_a_read_nor_the_reverse() -> None:
    world = World()

    async def confuse(request: Request, *, as_read: bool) -> None:
        call = world.client.read if as_read else world.client.write
        with pytest.raises(ValueError, match="is not a"):
            await call(request, Acknowledged, deadline=1.0)

    world.call(confuse(_WRITE, as_read=True))
    world.call(confuse(_READ, as_read=False))
    assert world.transport.asked == []
