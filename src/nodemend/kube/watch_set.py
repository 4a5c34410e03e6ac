"""Watches that come and go while a program runs. Each keeps one cache."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from nodemend.api.group_versions import Resource
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import Runtime, Signal, Task, Transport
from nodemend.kube.projection import Projection, Wire
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.running_together import join_all

W = TypeVar("W", bound=Wire)
R = TypeVar("R")


class WatchSet:
    """Owns one task for each resource. `ended` is set when one ends, which it does only by failing."""

    def __init__(
        self, runtime: Runtime, transport: Transport, timings: ReflectorTimings, ended: Signal
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._timings = timings
        self._ended = ended
        self._tasks: dict[Resource, Task] = {}

    @property
    def resources(self) -> frozenset[Resource]:
        return frozenset(self._tasks)

    def begin(
        self, projection: Projection[W, R], changed: Callable[[Sequence[Change[R]]], None]
    ) -> ObjectCache[R]:
        """The cache that it keeps from now on."""
        reflector = Reflector(projection, chance=self._runtime.random, timings=self._timings)
        work = run_reflector(reflector, self._transport, self._runtime, changed)
        self._tasks[projection.resource] = self._runtime.spawn(self._telling(work), str(projection.resource))
        return reflector.cache

    async def end(self, resources: Iterable[Resource]) -> None:
        for resource in resources:
            task = self._tasks.pop(resource)
            task.cancel()
            await task.join()

    async def raise_failures(self) -> None:
        for task in self._tasks.values():
            if task.done:
                await task.join()

    async def end_all(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await join_all(list(self._tasks.values()))

    async def _telling(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self._ended.set()
