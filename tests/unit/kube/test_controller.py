"""The reconcile loop in virtual time."""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.controller import Controller, Done, Outcome, RequeueAfter, Retry
from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.workqueue import WorkQueue
from simulation.processes import HostClock, SimulatedProcess, SimulatedTask
from simulation.scheduler import Scheduler

Reconcile = Callable[[str], Coroutine[Any, Any, Outcome]]


@dataclass
class RecordedEvents:
    """The calls that the observer got, as text."""

    story: list[str] = field(default_factory=list)

    def took(self, key: str, late: float) -> None:
        self.story.append(f"took {key} {late:.1f}")

    def finished(self, key: str, outcome: Outcome, seconds: float) -> None:
        self.story.append(f"finished {key} {type(outcome).__name__} {seconds:.1f}")

    def crashed(self, key: str, error: Exception, seconds: float) -> None:
        self.story.append(f"crashed {key} {error!r} {seconds:.1f}")

    def overflowed(self) -> None:
        self.story.append("overflowed")


class World:
    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "a", HostClock())
        self.reported = RecordedEvents()
        self.running: SimulatedTask | None = None

    def loop(
        self,
        reconcile: Reconcile,
        *,
        workers: int = 2,
        most: int = 100,
        everything: Callable[[], Iterable[str]] = tuple,
    ) -> Controller[str]:
        keys: WorkQueue[str] = WorkQueue(retry=Backoff(first=1.0, most=8.0, spread=0.0), most=most)
        loop = Controller(self.process, reconcile, self.reported, everything, workers=workers, queue=keys)
        self.running = self.process.spawn(loop.run(), "loop")
        return loop

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.process.crash()


def test_a_key_is_reconciled_on_request(world: World) -> None:
    seen: list[str] = []

    async def reconcile(key: str) -> Outcome:
        seen.append(key)
        return Done()

    loop = world.loop(reconcile)
    world.run(5.0)
    loop.add("a")
    loop.add("b", after=3.0)
    world.run(1.0)
    assert seen == ["a"]
    world.run(3.0)

    assert seen == ["a", "b"]
    assert world.reported.story[:2] == ["took a 0.0", "finished a Done 0.0"]


def test_the_times_between_looks_are_kept(world: World) -> None:
    observations: list[float] = []

    async def reconcile(_: str) -> Outcome:
        observations.append(world.scheduler.now)
        return RequeueAfter(10.0)

    world.loop(reconcile).add("a")
    world.run(35.0)

    assert observations == pytest.approx([0.0, 10.0, 20.0, 30.0])


def test_a_retry_backs_off_and_a_success_forgets_it(world: World) -> None:
    tries: list[float] = []

    async def reconcile(_: str) -> Outcome:
        tries.append(world.scheduler.now)
        return Retry("no answer") if len(tries) < 4 else Done()

    loop = world.loop(reconcile)
    loop.add("a")
    world.run(60.0)

    assert tries == pytest.approx([0.0, 1.0, 3.0, 7.0])
    assert not loop._queue._failing


def test_a_reconcile_that_raises_is_reported_and_retried_and_harms_no_other(world: World) -> None:
    done: list[str] = []

    async def reconcile(key: str) -> Outcome:
        if key == "bad" and "good" not in done:
            raise LookupError("a mistake")
        done.append(key)
        return Done()

    loop = world.loop(reconcile, workers=1)
    loop.add("bad")
    loop.add("good")
    world.run(5.0)

    assert done == ["good", "bad"]
    assert "crashed bad LookupError('a mistake') 0.0" in world.reported.story


def test_no_key_is_worked_on_twice_at_once_and_no_more_keys_than_workers(world: World) -> None:
    now: list[str] = []
    most_at_once = 0

    async def reconcile(key: str) -> Outcome:
        nonlocal most_at_once
        assert key not in now
        now.append(key)
        most_at_once = max(most_at_once, len(now))
        await world.process.sleep(1.0)
        now.remove(key)
        return Done()

    loop = world.loop(reconcile, workers=3)
    for _ in range(20):
        for key in "abc":
            loop.add(key)
        world.run(0.3)
    world.run(10.0)

    assert most_at_once == 3
    assert not any("crashed" in line for line in world.reported.story)
    assert loop.waiting == 0


def test_a_change_during_the_work_is_not_lost(world: World) -> None:
    seen: list[float] = []

    async def reconcile(_: str) -> Outcome:
        seen.append(world.scheduler.now)
        await world.process.sleep(2.0)
        return Done()

    loop = world.loop(reconcile)
    loop.add("a")
    world.run(1.0)
    loop.add("a")
    world.run(9.0)

    assert seen == pytest.approx([0.0, 2.0])


def test_cancelling_ends_all_work_and_forgets_the_rest(world: World) -> None:
    ended: list[str] = []

    async def reconcile(key: str) -> Outcome:
        try:
            await world.process.sleep(60.0)
        finally:
            await world.process.sleep(0.5)
            ended.append(key)
        return Done()

    loop = world.loop(reconcile)
    for key in "abc":
        loop.add(key)
    world.run(1.0)
    assert world.running is not None
    world.running.cancel()
    world.run(1.0)

    assert sorted(ended) == ["a", "b"]
    assert world.running.done
    loop.add("d")
    assert loop.waiting == 0


def test_a_key_that_a_full_queue_refused_is_requested_again(world: World) -> None:
    seen: list[str] = []

    async def reconcile(key: str) -> Outcome:
        seen.append(key)
        await world.process.sleep(1.0)
        return Done()

    loop = world.loop(reconcile, workers=1, most=4, everything=lambda: "abcdefghijklmnop")
    for key in "abcdefghijklmnop":
        loop.add(key)
    world.run(60.0)

    assert seen[:4] == ["a", "b", "c", "d"]
    assert set(seen) == set("abcdefghijklmnop")
    assert world.reported.story.count("overflowed") == 1
    assert loop.waiting == 0


def test_an_idle_loop_does_nothing(world: World) -> None:
    async def reconcile(_: str) -> Outcome:
        return Done()

    world.loop(reconcile)
    world.run(1.0)
    steps = world.scheduler.steps
    world.run(3600.0)

    assert world.scheduler.steps == steps


def test_a_loop_without_workers_is_refused(world: World) -> None:
    async def reconcile(_: str) -> Outcome:
        return Done()

    with pytest.raises(ValueError, match="workers"):
        Controller(world.process, reconcile, world.reported, tuple, workers=0)


def test_a_key_may_begin_again_before_its_end_was_noticed() -> None:
    """Under asyncio a join takes one turn of the event loop, in which other work may end and start again."""
    runtime, chance = AsyncioRuntime(seed=1), Random(2)
    rounds: Counter[str] = Counter()

    async def story() -> None:
        async def reconcile(key: str) -> Outcome:
            for _ in range(chance.randrange(6)):
                await runtime.sleep(0)
            rounds[key] += 1
            if rounds[key] < 20:
                loop.add(key)
            return Done()

        loop = Controller(runtime, reconcile, RecordedEvents(), tuple, workers=8)
        for key in "abcde":
            loop.add(key)
        running = runtime.spawn(loop.run(), "loop")
        for _ in range(1000):
            await runtime.sleep(0)
        running.cancel()
        await running.join()

    run(story())
    assert rounds == dict.fromkeys("abcde", 20)
