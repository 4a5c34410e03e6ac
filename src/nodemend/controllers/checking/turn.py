"""One at a time: whoever begins a remediation counts first, and nobody else begins in between."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nodemend.kube.ports import Runtime, Signal


class Turn:
    """First come, first served. Held only for as long as our own API server takes to answer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._taken = False
        self._waiting: deque[Signal] = deque()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        await self._take()
        try:
            yield
        finally:
            self._pass_on()

    async def _take(self) -> None:
        if not self._taken:
            self._taken = True
            return
        called = self._runtime.signal()
        self._waiting.append(called)
        try:
            await called.wait()
        except BaseException:
            # Cancelled. If it was called at that very moment, the next one must be.
            if called in self._waiting:
                self._waiting.remove(called)
            else:
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._taken = False
