"""Several works that live and die together: the first to end ends the others."""

from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any

from nodemend.kube.ports import Runtime, Task


async def run_together(runtime: Runtime, works: Mapping[str, Coroutine[Any, Any, None]]) -> None:
    """Run all until one ends or this is cancelled; then cancel and join the rest.

    Raises what the first one raised. None of them runs any more when this returns.
    """
    ended = runtime.signal()

    async def tell(work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            ended.set()

    tasks = [runtime.spawn(tell(work), name) for name, work in works.items()]
    try:
        await ended.wait()
    finally:
        await end_all(tasks, works.values())


async def end_all(tasks: list[Task], works: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Cancel and join them. `works` are what they were spawned to await."""
    try:
        for task in tasks:
            task.cancel()
        await join_all(tasks)
    finally:
        # One that was cancelled before its first step has not even touched its work.
        for work in works:
            if getcoroutinestate(work) == CORO_CREATED:
                work.close()


async def join_all(tasks: list[Task]) -> None:
    """Join every one, also when an earlier one raises; then that is raised."""
    async with AsyncExitStack() as joining:
        for task in reversed(tasks):
            joining.push_async_callback(task.join)
