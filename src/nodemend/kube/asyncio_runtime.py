"""Time, chance and concurrency through asyncio: the production Runtime."""

import asyncio
import gc
import random
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

T = TypeVar("T")

# CLOCK_MONOTONIC stops while a machine is suspended, and leases of other processes do not. On a platform
# without a clock that counts suspend, use the clock that exists.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_UNSLEWED = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)

# After a suspend the kernel still waits for the rest of the loop's timeout. Waking this often bounds how late
# a deadline that passed meanwhile is noticed.
_LONGEST_LOOP_WAIT_SECONDS = 1.0


class AsyncioSignal:
    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, within: float | None = None) -> bool:
        try:
            async with asyncio.timeout(within):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


class AsyncioTask:
    """A task with an owner: the code that spawned it joins it."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    @property
    def done(self) -> bool:
        return self._task.done()

    def cancel(self) -> None:
        self._task.cancel()

    async def join(self) -> None:
        # asyncio.wait, unlike awaiting the task, distinguishes its cancellation from the caller's own.
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.result()


class AsyncioRuntime:
    """The production Runtime. `seed` makes chance repeatable; without it chance comes from the system."""

    def __init__(self, seed: int | None = None) -> None:
        self._chance = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311

    def monotonic(self) -> float:
        return time.clock_gettime(_CLOCK)

    def unslewed(self) -> float:
        return time.clock_gettime(_UNSLEWED)

    def wall(self) -> datetime:
        return datetime.now(UTC)

    def random(self) -> float:
        return self._chance.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def signal(self) -> AsyncioSignal:
        return AsyncioSignal()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> AsyncioTask:
        return AsyncioTask(asyncio.get_running_loop().create_task(work, name=name))


class _SuspendAwareLoop(asyncio.SelectorEventLoop):
    """Timers use the clock that counts suspend, so sleeps and deadlines agree with `monotonic`."""

    def time(self) -> float:
        return time.clock_gettime(_CLOCK)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program to its end on a loop whose timers count suspend."""
    # The objects loaded so far stay permanently. Frozen, they are not traversed again by the garbage
    # collector, which then stops the program for a fraction of the time.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=_SuspendAwareLoop) as runner:
        return runner.run(_ticking(main))


async def _ticking(main: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    timers: list[asyncio.TimerHandle] = []

    def tick() -> None:
        timers[:] = [loop.call_later(_LONGEST_LOOP_WAIT_SECONDS, tick)]

    tick()
    try:
        return await main
    finally:
        timers[0].cancel()
