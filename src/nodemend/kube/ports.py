"""All that our code may ask of the world. Nothing else is awaited outside the shells.

The asyncio shell answers these in production, the simulated world in tests; the code in between cannot tell
which. Times are monotonic seconds and mean nothing outside the process that read them; `wall` is only for
what people read.
"""

from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from nodemend.kube.api_reply import Reply
from nodemend.kube.api_request import Request


class Signal(Protocol):
    """Wakes one waiter. Setting it twice before a wait is setting it once."""

    def set(self) -> None: ...

    async def wait(self, within: float | None = None) -> bool:
        """Clear and return True once set; False when `within` seconds passed first."""
        ...


class Task(Protocol):
    """Work that somebody owns: whoever spawned it joins it."""

    @property
    def done(self) -> bool: ...

    def cancel(self) -> None: ...

    async def join(self) -> None:
        """Wait for the end. Raises what the work raised; a cancelled one ends quietly."""
        ...


class Runtime(Protocol):
    """Time, chance and concurrency."""

    def monotonic(self) -> float: ...

    def unslewed(self) -> float:
        """Seconds by the machine's oscillator, which nobody slews. They stand still while it sleeps."""
        ...

    def wall(self) -> datetime: ...

    def random(self) -> float:
        """In [0, 1)."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def signal(self) -> Signal: ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> Task: ...


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """No more bytes will come. `clean` when the server closed it as HTTP says it should."""

    clean: bool
    why: str


@dataclass(frozen=True, slots=True)
class StreamSilent:
    """No byte came in the time allowed. The stream is still open."""


class Stream(Protocol):
    """The body of an answer that has no end of its own."""

    async def read(self, within: float) -> bytes | StreamSilent | StreamEnded: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """Carries one request. Never raises for what a network or a server can do: that is a Reply."""

    async def send(self, request: Request, deadline: float) -> Reply:
        """End by `deadline` (monotonic), whatever happens. No retries."""
        ...

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        """A stream once the server answered 200 by `deadline`, else what it answered."""
        ...


class OwnedTransport(Transport, Protocol):
    """A Transport that whoever opened it closes."""

    async def close(self) -> None:
        """End every connection. Requests under way end as unanswered."""
        ...


@dataclass(frozen=True, slots=True)
class CannotConnect:
    """There is no way to the cluster by what we were given. `why` shows none of it but names."""

    why: str


class Connector(Protocol):
    """Opens the way to clusters other than the one that we run in."""

    async def connect(self, kubeconfig: str) -> OwnedTransport | CannotConnect:
        """`kubeconfig` is a text that somebody else wrote. Nothing is sent yet."""
        ...
