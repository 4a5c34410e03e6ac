"""A bounded number at once, in order of arrival; cancelling never loses a slot."""

import pytest

from nodemend.kube.tasks import FairSemaphore
from simulation.processes import HostClock, SimulatedProcess, SimulatedTask
from simulation.scheduler import Scheduler


class Queue:
    """Tasks that each hold a slot for ten seconds."""

    def __init__(self, at_once: int, seed: int = 0) -> None:
        self.scheduler = Scheduler(seed)
        self.process = SimulatedProcess(self.scheduler, "one", HostClock())
        self.turn = FairSemaphore(self.process, at_once)
        self.inside: list[str] = []

    def come(self, *names: str) -> list[SimulatedTask]:
        tasks = []
        for name in names:
            tasks.append(self.process.spawn(self._stay(name), name))
            self.pass_time(0.1)
        return tasks

    def pass_time(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    async def _stay(self, name: str) -> None:
        async with self.turn.taken():
            self.inside.append(name)
            try:
                await self.process.sleep(10.0)
            finally:
                self.inside.remove(name)


def test_one_at_a_time_in_the_order_in_which_they_came() -> None:
    queue = Queue(1)
    queue.come("a", "b", "c")
    assert queue.inside == ["a"]
    queue.pass_time(10.0)
    assert queue.inside == ["b"]
    queue.pass_time(10.0)
    assert queue.inside == ["c"]


def test_the_number_of_simultaneous_turns_is_limited() -> None:
    queue = Queue(2)
    queue.come("a", "b", "c", "d")
    assert queue.inside == ["a", "b"]
    queue.pass_time(10.0)
    assert queue.inside == ["c", "d"]
    queue.pass_time(10.0)
    queue.come("e", "f", "g")
    assert queue.inside == ["e", "f"]


def test_who_leaves_gives_the_place_on_whether_inside_or_still_waiting() -> None:
    queue = Queue(1)
    first, second, _ = queue.come("a", "b", "c")
    second.cancel()
    first.cancel()
    queue.pass_time(0.1)
    assert queue.inside == ["c"]


@pytest.mark.parametrize("seed", range(10))
def test_a_place_is_not_lost_when_its_next_holder_leaves_as_it_is_called(seed: int) -> None:
    queue = Queue(1, seed)
    called: list[SimulatedTask] = []

    async def leave_and_send_the_next_away() -> None:
        async with queue.turn.taken():
            await queue.process.sleep(10.0)
        called[0].cancel()

    queue.process.spawn(leave_and_send_the_next_away(), "a")
    queue.pass_time(0.1)
    called += queue.come("b", "c")
    queue.pass_time(10.0)
    assert queue.inside == ["c"]
