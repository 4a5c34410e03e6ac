"""Looks at Leases for the peers who ask, and lets each wait for its answer."""

from dataclasses import dataclass, field
from itertools import count
from typing import Final, assert_never

from nodemend.agent.peer_desk import Command, LookAt, PeerDesk, Question, Say
from nodemend.agent.self_watch import SelfWatch
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import Failed, LeaseNews, ask_lease, understand
from nodemend.kube.ports import Runtime, Signal, Task, Transport

REFUSED_AFTER: Final = 0.01
"""Seconds. One connection has one question at a time: so none is refused more than a hundred times a second,
and this node's own affairs come in between."""


@dataclass(slots=True)
class _Waiting:
    said: Signal
    answer: Answer = Answer.SILENT


@dataclass(slots=True, kw_only=True)
class PeerDeskLoop:
    """Every look is a task of its own, and ends by its deadline. `close` waits for those under way."""

    runtime: Runtime
    transport: Transport
    watch: SelfWatch
    desk: PeerDesk
    _numbers: "count[int]" = field(default_factory=count)
    _waiting: dict[int, _Waiting] = field(default_factory=dict)
    _looks: dict[str, Task] = field(default_factory=dict)

    async def ask(self, node: str, node_uid: str, boot_id: str, within: float) -> Answer:
        """What to tell this node; SILENT when there is nothing to tell within so many seconds."""
        number = next(self._numbers)
        question = Question(number, node, node_uid, boot_id)
        match self.desk.ask(question, self.runtime.monotonic()):
            case [Say(_, answer)]:
                await self.runtime.sleep(REFUSED_AFTER)
                return answer
            case commands:
                return await self._wait_for(number, commands, within)

    async def _wait_for(self, number: int, commands: list[Command], within: float) -> Answer:
        waiting = self._waiting[number] = _Waiting(self.runtime.signal())
        try:
            self._carry_out(commands)
            await waiting.said.wait(within)
            return waiting.answer
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        for task in list(self._looks.values()):
            task.cancel()
            await task.join()

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Say(number, answer):
                    # Whoever no longer waits has asked somebody else.
                    if waiting := self._waiting.get(number):
                        waiting.answer = answer
                        waiting.said.set()
                case LookAt(node, deadline):
                    self._looks[node] = self.runtime.spawn(self._look(node, deadline), f"look at {node}")
                case _:
                    assert_never(command)

    async def _look(self, node: str, deadline: float) -> None:
        news = await self._read_lease(node, deadline)
        del self._looks[node]
        out_of_reach = self.watch.out_of_reach(self.runtime.unslewed())
        self._carry_out(self.desk.looked(node, news, self.runtime.monotonic(), out_of_reach=out_of_reach))

    async def _read_lease(self, node: str, deadline: float) -> LeaseNews:
        """The Lease holds what that node wrote. No failure keeps later questions of it waiting."""
        try:
            return understand(await self.transport.send(ask_lease(node), deadline))
        except Exception as error:  # noqa: BLE001 - one peer's data must not end the agent; see tests/tidy
            return Failed(type(error).__name__)
