"""The remediations that hold nodes while several reconciles run concurrently.

The concurrency limit and the quorum check count them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, TypeVar

from nodemend.api import manual_remediation, metal3_remediation, self_remediation
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION, Resource
from nodemend.api.self_remediation import SelfRemediation
from nodemend.kube.client import list_all
from nodemend.kube.outcome import Ok, Reason, Refused
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.status import says_contradicted
from nodemend.safety.facts import Present, ReadResult, Unreadable

K = TypeVar("K", ManualRemediation, Metal3Remediation, SelfRemediation)


@dataclass(frozen=True, slots=True)
class OtherRemediations:
    """The other remediations, as a remediation that may start must count them."""

    in_progress: int = 0
    """Number of active remediations: between fencing and release."""
    nodes: frozenset[str] = frozenset()
    """Names of the nodes of active remediations."""
    away: frozenset[str] = frozenset()
    """Names of nodes about to be fenced, fenced, or not back yet, regardless of their conditions."""
    released: frozenset[str] = frozenset()
    """Names of nodes without an active remediation whose workloads are released and that are not back yet."""


class _Stage(Enum):
    ACTIVE = auto()
    COMING_BACK = auto()
    IDLE = auto()
    """Not started, or finished."""


_BY_POWER: Final = {
    metal3_remediation.Metal3RemediationPhase.POWER_OFF: _Stage.ACTIVE,
    metal3_remediation.Metal3RemediationPhase.RELEASE: _Stage.ACTIVE,
    metal3_remediation.Metal3RemediationPhase.POWER_ON: _Stage.COMING_BACK,
}
_BY_ITSELF: Final = {
    self_remediation.SelfRemediationPhase.FENCING: _Stage.ACTIVE,
    self_remediation.SelfRemediationPhase.RELEASING: _Stage.ACTIVE,
    self_remediation.SelfRemediationPhase.RECOVERING: _Stage.COMING_BACK,
}


_OVER: Final = (
    manual_remediation.ManualRemediationPhase.SUCCEEDED,
    metal3_remediation.Metal3RemediationPhase.SUCCEEDED,
    self_remediation.SelfRemediationPhase.SUCCEEDED,
)
_SERVER_MAY_TAKE: Final = 60.0
"""Seconds. An API server with default settings gives up on a request after this time."""


class _Active(NamedTuple):
    uid: str
    node: str
    stage: _Stage
    released: bool = False


class _Kept(NamedTuple):
    node: str
    until: float


class ConcurrencyTracker:
    """Counts other remediations and reserves slots for those about to start.

    Two reconciles could both see one free slot. A reconcile that may start reserves a slot until its pass
    ends: by then its start is written, or it did not start. If its write got no response, it keeps the slot
    until the API server can no longer apply that write.

    SelfRemediations are listed only if self-fencing is enabled: otherwise no controller serves them.
    """

    def __init__(self, reader: LiveReader, *, self_fencing: bool = True) -> None:
        self._reader = reader
        self._self_fencing = self_fencing
        self._about_to_begin: dict[str, str] = {}
        self._unanswered: dict[str, _Kept] = {}

    @contextmanager
    def reservation(self, uid: str) -> Iterator[None]:
        """Hold the reservation of `uid` from the first read until the response to the write."""
        try:
            yield
        finally:
            self._about_to_begin.pop(uid, None)

    def unanswered(self, uid: str) -> None:
        """Keep the slot of the current pass: its write got no response and may still be applied."""
        node = self._about_to_begin.get(uid)
        if node is not None:
            self._unanswered[uid] = _Kept(node, self._now() + _SERVER_MAY_TAKE)

    async def others(self, uid: str, node: str, *, may_begin: bool = True) -> ReadResult[OtherRemediations]:
        """Return all other remediations, seen from `uid` on `node`, and reserve a slot if `may_begin`.

        A remediation that cannot start in this pass reserves none.
        """
        hands = self._places()
        if may_begin:
            self._about_to_begin[uid] = node
        by_hand = await self._hands(MANUAL_REMEDIATION, ManualRemediation, _by_hand)
        by_power = await self._hands(METAL3_REMEDIATION, Metal3Remediation, _by_power)
        by_itself: ReadResult[list[_Active]] = Present([])
        if self._self_fencing:
            by_itself = await self._hands(SELF_REMEDIATION, SelfRemediation, _by_itself)
        for found in (by_hand, by_power, by_itself):
            if not isinstance(found, Present):
                return found
            hands += found.value
        others = [one for one in hands if one.uid != uid and one.stage is not _Stage.IDLE]
        in_progress = {one.uid: one.node for one in others if one.stage is _Stage.ACTIVE}
        busy = frozenset(in_progress.values())
        released = frozenset(one.node for one in hands if one.uid != uid and one.released)
        return Present(
            OtherRemediations(len(in_progress), busy, frozenset(one.node for one in others), released - busy)
        )

    def _places(self) -> list[_Active]:
        now = self._now()
        self._unanswered = {uid: kept for uid, kept in self._unanswered.items() if now < kept.until}
        nodes = self._about_to_begin | {uid: kept.node for uid, kept in self._unanswered.items()}
        return [_Active(uid, node, _Stage.ACTIVE) for uid, node in nodes.items()]

    def _now(self) -> float:
        return self._reader.runtime.monotonic()

    async def _hands(
        self, resource: Resource, kind: type[K], hand: Callable[[K], _Active]
    ) -> ReadResult[list[_Active]]:
        outcome = await list_all(self._reader.client, resource, kind, deadline=self._reader.deadline)
        match outcome:
            case Ok(found):
                return Present([hand(one) for one in found.items])
            case Refused(reason=Reason.NOT_FOUND):
                # The kind is not installed, so it has no objects.
                return Present([])
            case failure:
                return Unreadable(str(failure))


def _by_hand(remediation: ManualRemediation) -> _Active:
    """Active from evidence until release. The node is off then, and an operator powers it on again."""
    status = remediation.status
    releasing = status.evidence is not None and not status.released
    return _hand(remediation, remediation.metadata.name, _Stage.ACTIVE if releasing else _Stage.IDLE)


def _by_power(remediation: Metal3Remediation) -> _Active:
    status = remediation.status
    return _hand(remediation, status.node_name, _BY_POWER.get(status.phase, _Stage.IDLE))


def _by_itself(remediation: SelfRemediation) -> _Active:
    status = remediation.status
    return _hand(remediation, status.node_name, _BY_ITSELF.get(status.phase, _Stage.IDLE))


def _hand(remediation: K, node: str, stage: _Stage) -> _Active:
    """A contradicted remediation stays active until it is over: its workloads may run twice."""
    status = remediation.status
    over = status.phase in _OVER
    contradicted = says_contradicted(status.conditions)
    stage = _Stage.ACTIVE if contradicted and not over else stage
    return _Active(remediation.metadata.uid, node, stage, status.released and not over)
