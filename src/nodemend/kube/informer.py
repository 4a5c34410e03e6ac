"""Drives a reflector over the ports: performs its one command, reports the outcome, passes on the changes.

Watches start and end while a program runs. Each keeps one cache.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Never, TypeVar, assert_never

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered, Unsent
from nodemend.kube.ports import Runtime, Signal, Stream, StreamEnded, Task, Transport
from nodemend.kube.reflector import (
    CloseStream,
    OpenStream,
    ReadStream,
    Reflector,
    ReflectorCommand,
    ReflectorEvent,
    SendPage,
    Sleep,
    SleepEnded,
    StreamClosed,
    StreamOpened,
)
from nodemend.kube.request import Request
from nodemend.kube.store import Change, DecodedObject, Projection, Store
from nodemend.kube.tasks import end_all, signal_end

W = TypeVar("W", bound=DecodedObject)
R = TypeVar("R")


async def run_reflector(
    reflector: Reflector[W, R],
    transport: Transport,
    runtime: Runtime,
    on_changes: Callable[[Sequence[Change[R]]], None],
) -> Never:
    """Keep the reflector's cache in sync until cancelled. The cache is updated before `on_changes`."""
    hands = _Hands(transport, runtime)
    try:
        command = reflector.start(runtime.monotonic())
        while True:
            event = await hands.perform(
                command, meanwhile=reflector.catch_up if reflector.is_behind else None
            )
            step = reflector.step(event, runtime.monotonic())
            if step.changes:
                on_changes(step.changes)
            command = step.command
    finally:
        hands.let_go()


class _Hands:
    """Performs commands; owns the open stream."""

    def __init__(self, transport: Transport, runtime: Runtime) -> None:
        self._transport = transport
        self._runtime = runtime
        self._stream: Stream | None = None

    async def perform(
        self, command: ReflectorCommand, meanwhile: Callable[[], None] | None = None
    ) -> ReflectorEvent:
        match command:
            case ReadStream(within):
                return await self._read(within)
            case SendPage(request, deadline):
                if meanwhile is None:
                    return await self._transport.send(request, deadline)
                return await self._send_and(meanwhile, request, deadline)
            case OpenStream(request, deadline):
                opened = await self._transport.open(request, deadline)
                if isinstance(opened, ApiResponse | Unsent | Unanswered):
                    return opened
                self._stream = opened
                return StreamOpened()
            case CloseStream():
                self.let_go()
                return StreamClosed()
            case Sleep(seconds):
                await self._runtime.sleep(seconds)
                return SleepEnded()
            case _:
                assert_never(command)

    async def _send_and(self, meanwhile: Callable[[], None], request: Request, deadline: float) -> Reply:
        """Run `meanwhile` while the server works on the request."""
        replies: list[Reply] = []

        async def send() -> None:
            replies.append(await self._transport.send(request, deadline))

        sending = self._runtime.spawn(send(), "page")
        try:
            await self._runtime.sleep(0)  # The request is sent now.
            meanwhile()
            await sending.join()
        finally:
            sending.cancel()
        return replies[0]

    async def _read(self, within: float) -> ReflectorEvent:
        if self._stream is None:
            raise RuntimeError("no stream is open")
        outcome = await self._stream.read(within)
        if isinstance(outcome, StreamEnded):
            self.let_go()
        return outcome

    def let_go(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class WatchSet:
    """Owns one task per resource. `ended` is set when one ends; unless it was cancelled, it failed."""

    def __init__(self, runtime: Runtime, transport: Transport, ended: Signal) -> None:
        self._runtime = runtime
        self._transport = transport
        self._ended = ended
        self._tasks: dict[Resource, Task] = {}

    @property
    def resources(self) -> frozenset[Resource]:
        return frozenset(self._tasks)

    def begin(self, projection: Projection[W, R], changed: Callable[[Sequence[Change[R]]], None]) -> Store[R]:
        """Start a watch. Returns the cache that it keeps in sync."""
        reflector = Reflector(projection, chance=self._runtime.random)
        work = run_reflector(reflector, self._transport, self._runtime, changed)
        self._tasks[projection.resource] = self._runtime.spawn(
            signal_end(work, self._ended), str(projection.resource)
        )
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
        await end_all(list(self._tasks.values()))
