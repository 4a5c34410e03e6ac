"""The interfaces to the outside world. Code outside the I/O modules awaits nothing else.

asyncio implements them in production, the simulated world in tests; the code in between cannot distinguish
them. Times are monotonic seconds and mean nothing outside the process that read them; `wall` is only for text
that people read.
"""

from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from nodemend.kube.outcome import Reply
from nodemend.kube.request import Request


class Signal(Protocol):
    """Wakes one waiter. Setting it twice before a wait is the same as setting it once."""

    def set(self) -> None: ...

    async def wait(self, within: float | None = None) -> bool:
        """Clear and return True once set; return False if `within` seconds pass first."""
        ...


class Task(Protocol):
    """Work with an owner: the code that spawned it joins it."""

    @property
    def done(self) -> bool: ...

    def cancel(self) -> None: ...

    async def join(self) -> None:
        """Wait for the end. Raises the work's exception; a cancelled task ends without one."""
        ...


class Runtime(Protocol):
    """Time, chance and concurrency."""

    def monotonic(self) -> float: ...

    def unslewed(self) -> float:
        """Seconds of the machine's oscillator, which is never slewed. They do not advance during suspend."""
        ...

    def wall(self) -> datetime: ...

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def signal(self) -> Signal: ...

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> Task: ...


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """No more bytes will arrive. `clean` if the server closed the stream as HTTP requires."""

    clean: bool
    why: str


@dataclass(frozen=True, slots=True)
class StreamSilent:
    """No byte arrived in the time allowed. The stream is still open."""


class Stream(Protocol):
    """The body of a response that does not end by itself."""

    async def read(self, within: float) -> bytes | StreamSilent | StreamEnded: ...

    def close(self) -> None: ...


class Transport(Protocol):
    """Carries one request. Never raises for faults of a network or a server: those are a Reply."""

    async def send(self, request: Request, deadline: float) -> Reply:
        """Return by `deadline` (monotonic) in every case. No retries."""
        ...

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        """Return a stream if the server answered 200 by `deadline`, else the reply."""
        ...


class OwnedTransport(Transport, Protocol):
    """A Transport that its opener closes."""

    async def close(self) -> None:
        """Close every connection. Requests in flight end as unanswered."""
        ...


@dataclass(frozen=True, slots=True)
class CannotConnect:
    """The kubeconfig gives no connection to the cluster. `why` shows nothing of it except names."""

    why: str


class Connector(Protocol):
    """Opens connections to clusters other than the one that this process runs in."""

    async def connect(self, kubeconfig: str) -> OwnedTransport | CannotConnect:
        """`kubeconfig` is a foreign text. Nothing is sent yet."""
        ...
