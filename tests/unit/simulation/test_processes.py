"""The simulated world keeps its promises: same seed, same trace; pauses, crashes and clocks behave."""

import pytest

from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler, SimulationStuckError


def world(seed: int = 1) -> tuple[Scheduler, SimulatedProcess]:
    scheduler = Scheduler(seed, keep_trace=True)
    return scheduler, SimulatedProcess(scheduler, "p", HostClock())


def test_a_sleep_ends_when_it_should() -> None:
    scheduler, process = world()
    woke: list[float] = []

    async def sleeper() -> None:
        await process.sleep(5.0)
        woke.append(scheduler.now)

    process.spawn(sleeper(), "sleeper")
    scheduler.run(10.0)
    assert woke == [5.0]


def test_a_fast_clock_sleeps_shorter_in_truth() -> None:
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "p", HostClock(rate=2.0))
    woke: list[tuple[float, float]] = []

    async def sleeper() -> None:
        await process.sleep(5.0)
        woke.append((scheduler.now, process.monotonic()))

    process.spawn(sleeper(), "sleeper")
    scheduler.run(10.0)
    assert woke == [(2.5, 5.0)]


def test_a_paused_process_does_nothing_until_it_goes_on() -> None:
    scheduler, process = world()
    woke: list[float] = []

    async def sleeper() -> None:
        await process.sleep(5.0)
        woke.append(scheduler.now)

    process.spawn(sleeper(), "sleeper")
    scheduler.at(4.0, lambda: process.pause(20.0))
    scheduler.run(60.0)
    assert woke == [24.0]


def test_a_crash_ends_everything_and_runs_no_clean_up_that_matters() -> None:
    scheduler, process = world()
    done: list[str] = []

    async def worker() -> None:
        try:
            await process.sleep(5.0)
        finally:
            await process.sleep(0.0)
            done.append("cleaned up")

    process.spawn(worker(), "worker")
    scheduler.at(1.0, process.crash)
    scheduler.run(60.0)
    assert done == []


def test_cancelling_lets_a_task_clean_up_and_join_is_quiet() -> None:
    scheduler, process = world()
    done: list[str] = []

    async def worker() -> None:
        try:
            await process.sleep(100.0)
        finally:
            await process.sleep(1.0)
            done.append("cleaned up")

    async def owner() -> None:
        task = process.spawn(worker(), "worker")
        await process.sleep(1.0)
        task.cancel()
        await task.join()
        done.append("joined")

    process.spawn(owner(), "owner")
    scheduler.run(10.0)
    assert done == ["cleaned up", "joined"]


def test_a_failure_reaches_the_joining_task_and_is_kept_without_one() -> None:
    scheduler, process = world()
    caught: list[str] = []

    async def fails() -> None:
        await process.sleep(1.0)
        raise ValueError("broken")

    async def owner() -> None:
        task = process.spawn(fails(), "fails")
        with pytest.raises(ValueError, match="broken"):
            await task.join()
        caught.append("joined")

    process.spawn(owner(), "owner")
    scheduler.run(5.0)
    assert (caught, process.unjoined_failures) == (["joined"], [])
    process.spawn(fails(), "alone")
    scheduler.run(10.0)
    assert [name for name, _ in process.unjoined_failures] == ["alone"]


def test_a_signal_wakes_once_and_remembers() -> None:
    scheduler, process = world()
    seen: list[bool] = []
    signal = process.signal()

    async def waiter() -> None:
        seen.append(await signal.wait(10.0))
        seen.append(await signal.wait(10.0))
        seen.append(await signal.wait(3.0))

    process.spawn(waiter(), "waiter")
    scheduler.at(2.0, signal.set)
    scheduler.at(2.0, signal.set)
    scheduler.at(7.0, signal.set)
    scheduler.run(60.0)
    assert seen == [True, True, False]
    assert scheduler.now == 60.0


def test_the_same_seed_gives_the_same_trace_and_another_gives_another() -> None:
    def digest(seed: int) -> str:
        scheduler, process = world(seed)

        async def chatter() -> None:
            for _ in range(50):
                await process.sleep(process.random())
                scheduler.note("tick")

        process.spawn(chatter(), "a")
        process.spawn(chatter(), "b")
        scheduler.run(100.0)
        return scheduler.trace.digest

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_what_spins_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scheduler, "MOST_STEPS", 1000)
    scheduler, process = world()

    async def spins() -> None:
        while True:
            await process.sleep(0.0)

    process.spawn(spins(), "spins")
    with pytest.raises(SimulationStuckError):
        scheduler.run(1.0)


def test_a_task_that_did_not_end_when_cancelled_can_be_cancelled_again() -> None:
    scheduler, process = world()
    thrown: list[float] = []

    async def stubborn() -> None:
        for _ in range(2):
            try:
                await process.sleep(100.0)
            except BaseException:
                thrown.append(scheduler.now)
                if len(thrown) == 2:
                    raise

    task = process.spawn(stubborn(), "stubborn")

    def cancel_twice() -> None:
        task.cancel()
        task.cancel()

    scheduler.at(1.0, cancel_twice)
    scheduler.at(5.0, task.cancel)
    scheduler.run(10.0)
    assert (thrown, task.done) == ([1.0, 5.0], True)
