"""Answers peers: a machine. A peer asks whether there is a marker for it; this node looks, and says so.

An answer counts only if the look began after the question arrived. So a question joins a look that has not
begun, never one that has; and however many ask, at most a few looks a second are caused.
"""

from dataclasses import dataclass, field
from typing import Final, assert_never

from nodemend.agent.allowances import Allowances, Bucket
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import Failed, Found, LeaseNews, Missing, Outdated

MOST_WAITING: Final = 64
"""Questions at once. A node has 15 peers, so about 15 nodes have it for theirs."""
QUESTIONS_A_SECOND: Final = 1.25
AT_ONCE: Final = 2.0
"""Of one node. An agent asks a peer once in some seconds."""
KEPT_BACK: Final = 2.0
"""Looks, for nodes that have not asked for a second: others get none of the last few."""


@dataclass(frozen=True, slots=True)
class Question:
    """By a node about itself: who it is was proved by its certificate, not by its words."""

    number: int
    node: str
    node_uid: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class LookAt:
    """Read the Lease of this node."""

    node: str
    deadline: float


@dataclass(frozen=True, slots=True)
class Say:
    question: int
    answer: Answer


Command = LookAt | Say


@dataclass(slots=True)
class _Caller:
    """One node: who waits for the look that is under way, and who came after it began."""

    looking: list[Question] = field(default_factory=list)
    next: list[Question] = field(default_factory=list)


class PeerDesk:
    """Whoever cannot be served is told SILENT at once: it may ask somebody else in the same round.

    Whoever asks more than any agent does takes no look from others: it gets none until it has calmed down.
    """

    def __init__(self, *, now: float, looks_a_second: float = 5.0, deadline: float = 2.0) -> None:
        self._looks = Bucket(looks_a_second, most=looks_a_second, level=looks_a_second, at=now)
        self._questions = Allowances(QUESTIONS_A_SECOND, most=AT_ONCE, stern=True)
        self._deadline = deadline
        self._callers: dict[str, _Caller] = {}
        self._waiting = 0

    def ask(self, question: Question, now: float) -> list[Command]:
        leaving = 0.0 if self._questions.has_rested(question.node, now) else KEPT_BACK
        if not self._questions.take(question.node, now) or self._waiting >= MOST_WAITING:
            return [Say(question.number, Answer.SILENT)]
        caller = self._callers.get(question.node)
        if caller is None and not self._looks.take(now, leaving):
            return [Say(question.number, Answer.SILENT)]
        self._waiting += 1
        if caller is None:
            self._callers[question.node] = _Caller(looking=[question])
            return [LookAt(question.node, now + self._deadline)]
        caller.next.append(question)
        return []

    def looked(self, node: str, news: LeaseNews, now: float, *, out_of_reach: bool) -> list[Command]:
        """The look at that node has ended. `out_of_reach`: this one has long had no contact itself."""
        caller = self._callers.pop(node)
        self._waiting -= len(caller.looking)
        said: list[Command] = [
            Say(one.number, judge(one, news, out_of_reach=out_of_reach)) for one in caller.looking
        ]
        if not caller.next:
            return said
        if not self._looks.take(now, KEPT_BACK):
            self._waiting -= len(caller.next)
            return said + [Say(one.number, Answer.SILENT) for one in caller.next]
        self._callers[node] = _Caller(looking=caller.next)
        return [*said, LookAt(node, now + self._deadline)]


def judge(question: Question, news: LeaseNews, *, out_of_reach: bool) -> Answer:
    """What to say. A Lease that is missing tells nothing: a marker may have been on it.

    Nor does a marker for another boot: it neither condemns this one nor lets it go on.
    """
    match news:
        case Found(lease) if lease.condemns(question.node_uid, question.boot_id):
            return Answer.CONDEMNED
        case Found(lease):
            return Answer.HEALTHY if lease.clean else Answer.SILENT
        case Missing() | Outdated():
            return Answer.SILENT
        case Failed():
            return Answer.API_OUT_OF_REACH if out_of_reach else Answer.SILENT
        case _:
            assert_never(news)
