"""Answers peers that ask whether they have a marker: this node reads their Lease.

An answer counts only if the read started after the question arrived. So a question joins a read that has not
started, never one that has. Any number of questions causes at most a few reads per second, and each caller
has a token bucket, in bounded memory.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Final, assert_never

from nodemend.agent.heartbeat import Heartbeat
from nodemend.kube.flowcontrol import Rate, TokenBucket
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.kube.ports import Runtime, Signal, Task, Transport
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import AgentLeaseResult, ask_lease, understand

MOST_KNOWN: Final = 256
"""Maximum number of remembered callers. A node is a peer of about 15."""


@dataclass(slots=True)
class PerPeerRateLimit:
    """A bucket per caller, full at first. Beyond MOST_KNOWN, the caller that asked longest ago is dropped.

    `stern`: a refused request costs, too. A caller that does not stop gets nothing until it does, and so
    takes nothing from well-behaved callers.
    """

    rate: Rate
    stern: bool = False
    _buckets: dict[str, TokenBucket] = field(default_factory=dict)

    def has_rested(self, who: str, now: float) -> bool:
        """True if the caller has not asked for a while."""
        bucket = self._buckets.get(who)
        return bucket is None or bucket.is_full(now)

    def take(self, who: str, now: float) -> bool:
        bucket = self._buckets.pop(who, None) or TokenBucket(self.rate)
        self._buckets[who] = bucket
        if len(self._buckets) > MOST_KNOWN:
            del self._buckets[next(iter(self._buckets))]
        granted = bucket.take(now) == 0.0
        if self.stern and not granted:
            bucket.empty()
        return granted


MOST_WAITING: Final = 64
"""Maximum number of questions at once. A node has 15 peers, so about 15 nodes have it as a peer."""
QUESTION_RATE: Final = Rate(per_second=1.25, at_once=2)
"""Per node. An agent asks a peer once in several seconds."""
KEPT_BACK: Final = 2
"""Reads reserved for nodes that have not asked for about a second; others get none of the last few."""


@dataclass(frozen=True, slots=True)
class StatusQuestion:
    """A node's question about itself. Its certificate proves its identity, not the message."""

    number: int
    node: str
    node_uid: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class ReadPeerLease:
    node: str
    deadline: float


@dataclass(frozen=True, slots=True)
class SendAnswer:
    question: int
    answer: PeerReply


Command = ReadPeerLease | SendAnswer


@dataclass(slots=True)
class _Caller:
    """One node's questions: those that wait for the running read, and those that came after it started."""

    looking: list[StatusQuestion] = field(default_factory=list)
    next: list[StatusQuestion] = field(default_factory=list)


class PeerResponder:
    """The state machine. A question that cannot be served gets SILENT at once.

    Its node may then ask another peer in the same round. A node that asks more often than any agent takes no
    reads from others: it gets none until it asks less often.
    """

    def __init__(self, *, reads_per_second: int = 5, deadline: float = 2.0) -> None:
        self._reads = TokenBucket(Rate(reads_per_second, at_once=reads_per_second))
        self._questions = PerPeerRateLimit(QUESTION_RATE, stern=True)
        self._deadline = deadline
        self._callers: dict[str, _Caller] = {}
        self._waiting = 0

    def ask(self, question: StatusQuestion, now: float) -> list[Command]:
        leaving = 0 if self._questions.has_rested(question.node, now) else KEPT_BACK
        if not self._questions.take(question.node, now) or self._waiting >= MOST_WAITING:
            return [SendAnswer(question.number, PeerReply.SILENT)]
        caller = self._callers.get(question.node)
        if caller is None and self._reads.take(now, leaving) > 0.0:
            return [SendAnswer(question.number, PeerReply.SILENT)]
        self._waiting += 1
        if caller is None:
            self._callers[question.node] = _Caller(looking=[question])
            return [ReadPeerLease(question.node, now + self._deadline)]
        caller.next.append(question)
        return []

    def looked(self, node: str, news: AgentLeaseResult, now: float, *, out_of_reach: bool) -> list[Command]:
        """Process the end of a read. `out_of_reach`: this node itself has long had no contact."""
        caller = self._callers.pop(node)
        self._waiting -= len(caller.looking)
        said: list[Command] = [
            SendAnswer(one.number, answer_for(one, news, out_of_reach=out_of_reach)) for one in caller.looking
        ]
        if not caller.next:
            return said
        if self._reads.take(now, KEPT_BACK) > 0.0:
            self._waiting -= len(caller.next)
            return said + [SendAnswer(one.number, PeerReply.SILENT) for one in caller.next]
        self._callers[node] = _Caller(looking=caller.next)
        return [*said, ReadPeerLease(node, now + self._deadline)]


def answer_for(question: StatusQuestion, news: AgentLeaseResult, *, out_of_reach: bool) -> PeerReply:
    """Return the answer. A missing Lease proves nothing, because it may have had a marker.

    Neither does a marker for another boot: it neither ends this boot nor lets it continue.
    """
    match news:
        case LeaseFound(lease) if lease.fences(question.node_uid, question.boot_id):
            return PeerReply.FENCE_NOW
        case LeaseFound(lease):
            return PeerReply.HEALTHY if lease.clean else PeerReply.SILENT
        case LeaseMissing() | LeaseOutdated():
            return PeerReply.SILENT
        case LeaseFailed():
            return PeerReply.API_OUT_OF_REACH if out_of_reach else PeerReply.SILENT
        case _:
            assert_never(news)


REFUSED_AFTER: Final = 0.01
"""Seconds. A connection has one question at a time, so it gets at most a hundred refusals per second, and the
node's own work runs in between."""


@dataclass(slots=True)
class _Waiting:
    said: Signal
    answer: PeerReply = PeerReply.SILENT


@dataclass(slots=True, kw_only=True)
class PeerResponderLoop:
    """I/O of the state machine: one task per read, which ends by its deadline. `close` ends them all."""

    runtime: Runtime
    transport: Transport
    watch: Heartbeat
    responder: PeerResponder
    _numbers: "count[int]" = field(default_factory=count)
    _waiting: dict[int, _Waiting] = field(default_factory=dict)
    _reads: dict[str, Task] = field(default_factory=dict)

    async def ask(self, node: str, node_uid: str, boot_id: str, within: float) -> PeerReply:
        """Return the answer to this node's question; SILENT if none arrives within `within` seconds."""
        number = next(self._numbers)
        question = StatusQuestion(number, node, node_uid, boot_id)
        match self.responder.ask(question, self.runtime.monotonic()):
            case [SendAnswer(_, answer)]:
                await self.runtime.sleep(REFUSED_AFTER)
                return answer
            case commands:
                return await self._wait_for(number, commands, within)

    async def _wait_for(self, number: int, commands: list[Command], within: float) -> PeerReply:
        waiting = self._waiting[number] = _Waiting(self.runtime.signal())
        try:
            self._carry_out(commands)
            await waiting.said.wait(within)
            return waiting.answer
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        for task in list(self._reads.values()):
            task.cancel()
            await task.join()

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case SendAnswer(number, answer):
                    # A caller that no longer waits has asked another peer.
                    if waiting := self._waiting.get(number):
                        waiting.answer = answer
                        waiting.said.set()
                case ReadPeerLease(node, deadline):
                    self._reads[node] = self.runtime.spawn(
                        self._read_peer_lease(node, deadline), f"look at {node}"
                    )
                case _:
                    assert_never(command)

    async def _read_peer_lease(self, node: str, deadline: float) -> None:
        news = await self._read_lease(node, deadline)
        del self._reads[node]
        out_of_reach = self.watch.out_of_reach(self.runtime.unslewed())
        self._carry_out(
            self.responder.looked(node, news, self.runtime.monotonic(), out_of_reach=out_of_reach)
        )

    async def _read_lease(self, node: str, deadline: float) -> AgentLeaseResult:
        """Read a Lease, whose content another node wrote.

        Any exception is a failed read, so that no later question of that node waits forever.
        """
        try:
            return understand(await self.transport.send(ask_lease(node), deadline))
        except Exception as error:  # noqa: BLE001 - one peer's data must not end the agent; see tests/tidy
            return LeaseFailed(type(error).__name__)
