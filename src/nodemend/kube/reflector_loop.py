"""Drives a reflector over the ports: performs its one command, tells it the outcome, hands on the changes."""

from collections.abc import Callable, Sequence
from typing import Never, TypeVar, assert_never

from nodemend.kube.api_reply import Answer, Reply, Unanswered, Unsent
from nodemend.kube.api_request import Request
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Stream, StreamEnded, Transport
from nodemend.kube.projection import Wire
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_steps import (
    Closed,
    CloseStream,
    Command,
    Event,
    Opened,
    OpenStream,
    ReadStream,
    SendPage,
    Sleep,
    Slept,
)

W = TypeVar("W", bound=Wire)
R = TypeVar("R")


async def run_reflector(
    reflector: Reflector[W, R],
    transport: Transport,
    runtime: Runtime,
    on_changes: Callable[[Sequence[Change[R]]], None],
) -> Never:
    """Keep the reflector's cache true until cancelled. `on_changes` is called after the cache has them."""
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
    """Performs commands; holds the stream that is open."""

    def __init__(self, transport: Transport, runtime: Runtime) -> None:
        self._transport = transport
        self._runtime = runtime
        self._stream: Stream | None = None

    async def perform(self, command: Command, meanwhile: Callable[[], None] | None = None) -> Event:
        match command:
            case ReadStream(within):
                return await self._read(within)
            case SendPage(request, deadline):
                if meanwhile is None:
                    return await self._transport.send(request, deadline)
                return await self._send_and(meanwhile, request, deadline)
            case OpenStream(request, deadline):
                opened = await self._transport.open(request, deadline)
                if isinstance(opened, Answer | Unsent | Unanswered):
                    return opened
                self._stream = opened
                return Opened()
            case CloseStream():
                self.let_go()
                return Closed()
            case Sleep(seconds):
                await self._runtime.sleep(seconds)
                return Slept()
            case _:
                assert_never(command)

    async def _send_and(self, meanwhile: Callable[[], None], request: Request, deadline: float) -> Reply:
        """Let the server work on a request while we work too."""
        replies: list[Reply] = []

        async def send() -> None:
            replies.append(await self._transport.send(request, deadline))

        sending = self._runtime.spawn(send(), "page")
        try:
            await self._runtime.sleep(0)  # It goes out now.
            meanwhile()
            await sending.join()
        finally:
            sending.cancel()
        return replies[0]

    async def _read(self, within: float) -> Event:
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
