"""One at a time, or so many at once: the others wait.

Whoever begins a remediation counts first, and nobody else may begin in between.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nodemend.kube.ports import Runtime, Signal


class Turn:
    """First come, first served. What is done in a turn has an end of its own."""

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
            self._free += 1
