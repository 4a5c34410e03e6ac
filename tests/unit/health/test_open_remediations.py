"""A cached list is used for a moment, and never after an event that may have changed it."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from nodemend.health.remediation_index import AHEAD, GOOD_FOR, RemediationIndex, RemediationListCache
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply
from nodemend.kube.ports import Stream
from nodemend.kube.request import Request
from nodemend.records.live_reads import LiveReader
from nodemend.safety.facts import Unreadable
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

TAKES = 0.1


class Server:
    """Lists this number of remediations, in the state at the time of the request."""

    def __init__(self, process: SimulatedProcess) -> None:
        self.process = process
        self.made = 0
        self.asked = 0
        self.sick = False

    async def send(self, _request: Request, _deadline: float) -> Reply:
        self.asked += 1
        items = [{"metadata": {"name": f"node-{number}", "uid": str(number)}} for number in range(self.made)]
        answer = ApiResponse(500 if self.sick else 200, msgspec.json.encode({"metadata": {}, "items": items}))
        await self.process.sleep(TAKES)
        return answer

    async def open(self, _request: Request, _deadline: float) -> Stream | Reply:
        raise AssertionError("nobody watches here")


class Stage:
    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "lister", HostClock())
        self.server = Server(self.process)
        client = ApiClient(self.server, self.process)
        self.open = RemediationListCache(LiveReader(client, self.process), RemediationIndex())

    def play(self, story: Callable[[], Coroutine[Any, Any, None]]) -> None:
        playing = self.process.spawn(story(), "story")
        self.scheduler.run(self.scheduler.now + 60.0)
        assert playing.done
        for _, error in self.process.unjoined_failures:
            raise error

    async def count(self) -> int:
        listed = await self.open.listed()
        assert not isinstance(listed, Unreadable)
        return len(listed)


def test_who_looked_ahead_has_the_list_at_its_deadline_without_asking() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.open.prefetch()
        await stage.process.sleep(AHEAD)
        at = stage.process.monotonic()
        assert await stage.count() == 0
        assert stage.process.monotonic() == at

    stage.play(story)
    assert stage.server.asked == 1


def test_an_old_list_is_requested_again() -> None:
    stage = Stage()

    async def story() -> None:
        assert await stage.count() == 0
        stage.server.made = 1
        await stage.process.sleep(GOOD_FOR)
        assert await stage.count() == 1

    stage.play(story)


def test_a_prefetched_list_stays_valid_until_the_later_deadline() -> None:
    stage = Stage()

    async def story() -> None:
        await stage.open.prefetch()
        await stage.process.sleep(GOOD_FOR - AHEAD)
        await stage.open.prefetch()
        assert stage.server.asked == 2
        await stage.open.prefetch()
        assert stage.server.asked == 2

    stage.play(story)


def test_past_a_write_or_a_change_nothing_that_was_listed_counts() -> None:
    stage = Stage()

    async def story() -> None:
        assert await stage.count() == 0
        stage.server.made = 1
        stage.open.forget()
        assert await stage.count() == 1

    stage.play(story)


def test_nor_what_was_being_listed_meanwhile() -> None:
    stage = Stage()

    async def story() -> None:
        looking = stage.process.spawn(stage.open.prefetch(), "look ahead")
        await stage.process.sleep(TAKES / 2)
        stage.server.made = 1
        stage.open.forget()
        await looking.join()
        assert await stage.count() == 1

    stage.play(story)


def test_not_knowing_is_not_kept() -> None:
    stage = Stage()

    async def story() -> None:
        stage.server.sick = True
        assert isinstance(await stage.open.listed(), Unreadable)
        stage.server.sick = False
        assert await stage.count() == 0

    stage.play(story)
