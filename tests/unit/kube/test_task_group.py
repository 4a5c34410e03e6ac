"""All tasks are joined, regardless of their number and of exceptions."""

import pytest

from nodemend.kube.ports import Task
from nodemend.kube.tasks import join_all
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler


class World:
    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "one", HostClock())
        self.ended: list[int] = []

    def work(self, number: int, *, fails: bool = False) -> Task:
        async def end() -> None:
            await self.process.sleep(1.0)
            self.ended.append(number)
            if fails:
                raise ValueError(number)

        return self.process.spawn(end(), f"{number}")

    def join(self, tasks: list[Task]) -> None:
        joining = self.process.spawn(join_all(tasks), "join")
        self.scheduler.run(2.0)
        assert joining.done
        for _, error in self.process.unjoined_failures:
            raise error


def test_thousands_are_joined() -> None:
    world = World()
    world.join([world.work(number) for number in range(3000)])
    assert len(world.ended) == 3000


def test_a_failing_task_is_reported_and_the_others_are_still_joined() -> None:
    world = World()
    tasks = [world.work(number, fails=number == 1) for number in range(4)]
    with pytest.raises(ValueError, match="1"):
        world.join(tasks)
    assert sorted(world.ended) == [0, 1, 2, 3]
