"""Reads of the node's own Lease beside renewals that fail: some under way at once, none for long."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from nodemend.agent.self_watch_steps import LookBeside, Looked
from nodemend.kube.agent_lease import ask_lease, understand
from nodemend.kube.ports import Runtime, Task, Transport

SPREAD: Final = 0.4
"""Of the time between two looks: nodes that lost the API server together do not look together."""


@dataclass(slots=True, kw_only=True)
class LooksBeside:
    """`tell` is called with each answer as it comes. `close` ends what is under way."""

    node: str
    runtime: Runtime
    transport: Transport
    tell: Callable[[Looked], None]
    _turns: Task | None = None
    _under_way: dict[int, Task] = field(default_factory=dict)
    _number: int = 0

    def begin(self, command: LookBeside) -> None:
        if self._turns is None:
            self._turns = self.runtime.spawn(self._take_turns(command), "looks beside renewals")

    def stop(self) -> None:
        if self._turns is not None:
            self._turns.cancel()
            self._turns = None

    async def close(self) -> None:
        turns = self._turns
        self.stop()
        for task in (turns, *self._under_way.values()):
            if task is not None:
                task.cancel()
                await task.join()
        self._under_way.clear()

    async def _take_turns(self, command: LookBeside) -> None:
        while True:
            if len(self._under_way) < command.most:
                self._number += 1
                number = self._number
                self._under_way[number] = self.runtime.spawn(self._look(number, command), f"look {number}")
            await self.runtime.sleep(command.every * (1 + SPREAD * (self.runtime.random() - 0.5)))

    async def _look(self, number: int, command: LookBeside) -> None:
        asked_at = self.runtime.monotonic()
        try:
            reply = await self.transport.send(ask_lease(self.node), asked_at + command.within)
        finally:
            self._under_way.pop(number, None)
        self.tell(Looked(understand(reply), asked_at))
