"""Who has which node in hand, while several passes run side by side: for the limit, and for the quorum."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, TypeVar

from nodemend.api import manual_remediation, power_cycle, self_remediation
from nodemend.api.group_versions import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION, Resource
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.self_remediation import SelfRemediation
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.contradiction import says_contradicted
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.kube.api_outcome import Ok, Reason, Refused
from nodemend.kube.paged_list import list_all

K = TypeVar("K", ManualRemediation, Metal3Remediation, SelfRemediation)


@dataclass(frozen=True, slots=True)
class Others:
    """The other remediations, as one sees them that may begin."""

    at_work: int = 0
    """So many have a node in hand, from its fence until it is released."""
    nodes: frozenset[str] = frozenset()
    """The names of these nodes."""
    away: frozenset[str] = frozenset()
    """Names of nodes that are about to go, gone, or not back yet, whatever they show."""
    released: frozenset[str] = frozenset()
    """Names of nodes whose workloads run elsewhere, and that are not back: of none that is at work."""


class _Stage(Enum):
    AT_WORK = auto()
    COMING_BACK = auto()
    ASIDE = auto()
    """It has not begun, or is over."""


_BY_POWER: Final = {
    power_cycle.Phase.POWER_OFF: _Stage.AT_WORK,
    power_cycle.Phase.RELEASE: _Stage.AT_WORK,
    power_cycle.Phase.POWER_ON: _Stage.COMING_BACK,
}
_BY_ITSELF: Final = {
    self_remediation.Phase.FENCING: _Stage.AT_WORK,
    self_remediation.Phase.RELEASING: _Stage.AT_WORK,
    self_remediation.Phase.RECOVERING: _Stage.COMING_BACK,
}


_OVER: Final = (
    manual_remediation.Phase.SUCCEEDED,
    power_cycle.Phase.SUCCEEDED,
    self_remediation.Phase.SUCCEEDED,
)
_SERVER_MAY_TAKE: Final = 60.0
"""Seconds. After these an API server gives a request up, as it is shipped."""


class _Hand(NamedTuple):
    uid: str
    node: str
    stage: _Stage
    released: bool = False


class _Kept(NamedTuple):
    node: str
    until: float


class AtWork:
    """Tells what the others do.

    Two that count at once could both find the last place free. So whoever asked before, and may begin by what
    it was told, has a place until its pass is over: by then its beginning is written, or there is none. Where
    nobody can tell, because its write had no answer, it has its place until it can be written no more.

    Remediations by self-fencing are counted where they are served: elsewhere nobody is at work on them.
    """

    def __init__(self, reader: Reader, *, self_fencing: bool = True) -> None:
        self._reader = reader
        self._self_fencing = self_fencing
        self._about_to_begin: dict[str, str] = {}
        self._unanswered: dict[str, _Kept] = {}

    @contextmanager
    def one_pass(self, uid: str) -> Iterator[None]:
        """Around everything from the reads to the answer to the write."""
        try:
            yield
        finally:
            self._about_to_begin.pop(uid, None)

    def unanswered(self, uid: str) -> None:
        """The write of the pass that goes on may yet be applied."""
        node = self._about_to_begin.get(uid)
        if node is not None:
            self._unanswered[uid] = _Kept(node, self._now() + _SERVER_MAY_TAKE)

    async def others(self, uid: str, node: str, *, may_begin: bool = True) -> Seen[Others]:
        """All but this one, of this node. One that cannot begin in this pass takes no place from others."""
        hands = self._places()
        if may_begin:
            self._about_to_begin[uid] = node
        by_hand = await self._hands(MANUAL_REMEDIATION, ManualRemediation, _by_hand)
        by_power = await self._hands(METAL3_REMEDIATION, Metal3Remediation, _by_power)
        by_itself: Seen[list[_Hand]] = Present([])
        if self._self_fencing:
            by_itself = await self._hands(SELF_REMEDIATION, SelfRemediation, _by_itself)
        for found in (by_hand, by_power, by_itself):
            if not isinstance(found, Present):
                return found
            hands += found.value
        others = [one for one in hands if one.uid != uid and one.stage is not _Stage.ASIDE]
        at_work = {one.uid: one.node for one in others if one.stage is _Stage.AT_WORK}
        busy = frozenset(at_work.values())
        released = frozenset(one.node for one in hands if one.uid != uid and one.released)
        return Present(Others(len(at_work), busy, frozenset(one.node for one in others), released - busy))

    def _places(self) -> list[_Hand]:
        now = self._now()
        self._unanswered = {uid: kept for uid, kept in self._unanswered.items() if now < kept.until}
        nodes = self._about_to_begin | {uid: kept.node for uid, kept in self._unanswered.items()}
        return [_Hand(uid, node, _Stage.AT_WORK) for uid, node in nodes.items()]

    def _now(self) -> float:
        return self._reader.runtime.monotonic()

    async def _hands(
        self, resource: Resource, kind: type[K], hand: Callable[[K], _Hand]
    ) -> Seen[list[_Hand]]:
        outcome = await list_all(self._reader.client, resource, kind, deadline=self._reader.deadline)
        match outcome:
            case Ok(found):
                return Present([hand(one) for one in found.items])
            case Refused(reason=Reason.NOT_FOUND):
                # The kind itself is not there, so neither is anybody of it.
                return Present([])
            case failure:
                return Unreadable(str(failure))


def _by_hand(remediation: ManualRemediation) -> _Hand:
    """Where there is evidence its node is dead, and comes back by the same hand."""
    status = remediation.status
    releasing = status.evidence is not None and not status.released
    return _hand(remediation, remediation.metadata.name, _Stage.AT_WORK if releasing else _Stage.ASIDE)


def _by_power(remediation: Metal3Remediation) -> _Hand:
    status = remediation.status
    return _hand(remediation, status.node_name, _BY_POWER.get(status.phase, _Stage.ASIDE))


def _by_itself(remediation: SelfRemediation) -> _Hand:
    status = remediation.status
    return _hand(remediation, status.node_name, _BY_ITSELF.get(status.phase, _Stage.ASIDE))


def _hand(remediation: K, node: str, stage: _Stage) -> _Hand:
    """Where evidence was contradicted workloads may run twice: its node keeps its place until it is over."""
    status = remediation.status
    over = status.phase in _OVER
    contradicted = says_contradicted(status.conditions)
    stage = _Stage.AT_WORK if contradicted and not over else stage
    return _Hand(remediation.metadata.uid, node, stage, status.released and not over)
