"""The runtime by asyncio keeps the port's promises."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from nodemend.kube.asyncio_runtime import AsyncioRuntime, run


def test_a_signal_wakes_a_waiter_and_is_cleared() -> None:
    async def main() -> list[bool]:
        runtime = AsyncioRuntime()
        signal = runtime.signal()
        asyncio.get_running_loop().call_soon(signal.set)
        first = await signal.wait(within=5.0)
        return [first, await signal.wait(within=0.0)]

    assert run(main()) == [True, False]


def test_a_signal_set_twice_before_the_wait_is_set_once() -> None:
    async def main() -> list[bool]:
        signal = AsyncioRuntime().signal()
        signal.set()
        signal.set()
        return [await signal.wait(within=0.0), await signal.wait(within=0.0)]

    assert run(main()) == [True, False]


def test_joining_raises_what_the_work_raised() -> None:
    async def fail() -> None:
        raise KeyError("x")

    async def main() -> bool:
        task = AsyncioRuntime().spawn(fail(), "fails")
        with pytest.raises(KeyError):
            await task.join()
        return task.done

    assert run(main())


def test_a_cancelled_task_ends_quietly_and_its_joiner_lives_on() -> None:
    async def main() -> bool:
        runtime = AsyncioRuntime()
        task = runtime.spawn(runtime.sleep(60), "sleeps")
        await runtime.sleep(0)
        task.cancel()
        await task.join()
        return task.done

    assert run(main())


def test_cancelling_a_joiner_leaves_the_task_alone() -> None:
    async def main() -> list[bool]:
        runtime = AsyncioRuntime()
        task = runtime.spawn(runtime.sleep(60), "sleeps")
        joiner = runtime.spawn(task.join(), "joins")
        await runtime.sleep(0)
        joiner.cancel()
        await joiner.join()
        seen = [joiner.done, task.done]
        task.cancel()
        await task.join()
        return seen

    assert run(main()) == [True, False]


def test_the_clock_counts_suspend_and_the_loop_agrees_with_it() -> None:
    async def main() -> tuple[float, float]:
        return AsyncioRuntime().monotonic(), asyncio.get_running_loop().time()

    ours, loop_s = run(main())

    assert abs(ours - loop_s) < 1.0
    assert abs(ours - time.clock_gettime(time.CLOCK_BOOTTIME)) < 1.0


def test_the_wall_clock_is_utc() -> None:
    assert abs(AsyncioRuntime().wall() - datetime.now(UTC)) < timedelta(seconds=1)


def test_chance_with_a_seed_is_repeatable() -> None:
    one, two, system = AsyncioRuntime(seed=7), AsyncioRuntime(seed=7), AsyncioRuntime()

    assert [one.random() for _ in range(5)] == [two.random() for _ in range(5)]
    assert all(0.0 <= system.random() < 1.0 for _ in range(100))
