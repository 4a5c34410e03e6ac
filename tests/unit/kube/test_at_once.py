"""Several questions are answered in the time of the slowest, and none outlives the block that asked it."""

import asyncio

import pytest

from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.tasks import ConcurrentReads, PendingRead
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler


class World:
    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "one", HostClock())
        self.begun = 0
        self.ended: list[str] = []

    async def reply(self, after: float, answer: str) -> str:
        self.begun += 1
        try:
            await self.process.sleep(after)
            if answer == "a mistake":
                raise ValueError(answer)
            return answer
        finally:
            self.ended.append(answer)

    async def ask(self, *questions: tuple[float, str]) -> tuple[list[str], float]:
        began = self.process.monotonic()
        async with ConcurrentReads(self.process) as asked:
            pending = [asked.ask(self.reply(*question)) for question in questions]
        return [one.answer for one in pending], self.process.monotonic() - began


def test_all_are_answered_each_by_its_own_in_the_time_of_the_slowest() -> None:
    world, reported = World(), list[tuple[list[str], float]]()

    async def ask() -> None:
        reported.append(await world.ask((3.0, "slow"), (1.0, "quick"), (2.0, "middling")))

    world.process.spawn(ask(), "asking")
    world.scheduler.run(10.0)
    ((answers, seconds),) = reported
    assert answers == ["slow", "quick", "middling"]
    assert 3.0 <= seconds < 4.0


def test_what_one_raises_is_raised_and_the_others_end() -> None:
    world = World()

    async def ask() -> None:
        with pytest.raises(ValueError, match="a mistake"):
            await world.ask((1.0, "a mistake"), (20.0, "late"))
        assert world.ended == ["a mistake", "late"]

    asking = world.process.spawn(ask(), "asking")
    world.scheduler.run(10.0)
    assert asking.done
    assert not world.process.unjoined_failures


def test_a_cancelled_call_leaves_no_task_behind() -> None:
    world = World()

    async def ask() -> None:
        await world.ask((5.0, "one"), (6.0, "two"))

    asking = world.process.spawn(ask(), "asking")
    world.scheduler.run(1.0)
    asking.cancel()
    world.scheduler.run(1.0)
    assert world.begun == 2
    assert sorted(world.ended) == ["one", "two"]


def test_a_question_that_is_cancelled_before_its_first_step_is_not_left_unasked() -> None:
    """By asyncio: the simulated runtime lets a task begin before it is cancelled."""
    begun: list[str] = []

    async def reply() -> None:
        begun.append("a question")

    async def ask() -> None:
        async with ConcurrentReads(AsyncioRuntime()) as asked:
            asked.ask(reply())
            raise ValueError("before the first step")

    with pytest.raises(ValueError, match="before the first step"):
        asyncio.run(ask())
    assert begun == []


def test_an_answer_that_is_not_there_is_not_made_up() -> None:
    with pytest.raises(RuntimeError, match="no answer yet"):
        _ = PendingRead[str]().answer
