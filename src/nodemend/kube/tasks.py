"""Runs coroutines concurrently: reads with typed results, groups of tasks, and work behind a fair semaphore.

In a group, the first task to end ends the others.

A start of a remediation counts the open remediations first. No other start may run in between, so starts take
turns by the semaphore.
"""

from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import CORO_CREATED, getcoroutinestate
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from nodemend.kube.ports import Runtime, Signal, Task


class FairSemaphore:
    """A semaphore that serves its waiters in order. The work inside must have its own time limit."""

    def __init__(self, runtime: Runtime, at_once: int = 1) -> None:
        self._runtime = runtime
        self._free = at_once
        self._waiting: deque[Signal] = deque()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        await self._take()
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self) -> None:
        if self._free:
            self._free -= 1
            return
        called = self._runtime.signal()
        self._waiting.append(called)
        try:
            await called.wait()
        except BaseException:
            # Cancelled. If the permit arrived at the same moment, pass it to the next waiter.
            if called in self._waiting:
                self._waiting.remove(called)
            else:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1


async def run_together(runtime: Runtime, works: Mapping[str, Coroutine[Any, Any, None]]) -> None:
    """Run all until one ends or this is cancelled; then cancel and join the rest.

    Raises the exception of the first one. None of them is running when this returns.
    """
    ended = runtime.signal()
    tasks = [runtime.spawn(signal_end(work, ended), name) for name, work in works.items()]
    try:
        await ended.wait()
    finally:
        await end_all(tasks, works.values())


async def signal_end(work: Coroutine[Any, Any, None], ended: Signal) -> None:
    """Await the work, and set the signal when it has ended in any way."""
    try:
        await work
    finally:
        ended.set()


async def end_all(tasks: list[Task], works: Iterable[Coroutine[Any, Any, object]] = ()) -> None:
    """Cancel and join the tasks. `works` are the coroutines that they were spawned to await."""
    try:
        for task in tasks:
            task.cancel()
        await join_all(tasks)
    finally:
        # A task that was cancelled before its first step has not started its coroutine.
        for work in works:
            if getcoroutinestate(work) == CORO_CREATED:
                work.close()


async def join_all(tasks: list[Task]) -> None:
    """Join every task, also if an earlier one raises; then raise that exception."""
    async with AsyncExitStack() as joining:
        for task in reversed(tasks):
            joining.push_async_callback(task.join)


T = TypeVar("T")


class PendingRead(Generic[T]):
    def __init__(self) -> None:
        self._answers: list[T] = []

    @property
    def answer(self) -> T:
        """The result, available after the block has ended. Raises RuntimeError before."""
        if not self._answers:
            raise RuntimeError("there is no answer yet")
        return self._answers[0]

    async def wait_for(self, work: Coroutine[Any, Any, T]) -> None:
        self._answers.append(await work)


class ConcurrentReads:
    """Runs everything passed to `ask`. All of it has ended when the block ends.

    Raises the first exception, in the order of the `ask` calls, and then cancels the rest. Each coroutine
    must end by itself: there is no time limit here.
    """

    # Not a generator: one that is discarded half-way, as in a process that dies, would run its cleanup by
    # itself.

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tasks: list[Task] = []
        self._works: list[Coroutine[Any, Any, object]] = []

    def ask(self, work: Coroutine[Any, Any, T]) -> PendingRead[T]:
        pending: PendingRead[T] = PendingRead()
        self._works.append(work)
        self._tasks.append(self._runtime.spawn(pending.wait_for(work), "question"))
        return pending

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for task in self._tasks:
                    await task.join()
        finally:
            await end_all(self._tasks, self._works)
