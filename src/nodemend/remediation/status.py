"""Facts, steps and the status after a step of all kinds of remediations that release workloads.

Evidence may prove wrong, or become invalid, after the release had begun: the workloads may run twice. One
condition reports that for every kind of remediation. Once True it stays True, whether or not the node
recovers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeVar

from nodemend.api import condition_reasons, condition_types
from nodemend.api.condition_types import EVIDENCE_CONTRADICTED
from nodemend.api.evidence import Evidence
from nodemend.api.meta import Condition, ConditionStatus, find_true, merged
from nodemend.safety.facts import LeaseFacts, NodeFacts, PolicyFacts, ReadResult
from nodemend.safety.holds import Contradicts, Explanation, Hold, HoldReason
from nodemend.safety.lifecycle import (
    AddFinalizer,
    ClearRevocation,
    Close,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    LockHolder,
    MarkReleased,
    NothingLeft,
    RecordEpoch,
    RecordEvidence,
    Release,
    ReleaseStatus,
    RemainingWorkloads,
    RemoveTaint,
    ReportRemaining,
    RevokeRelease,
    TakeLock,
)
from nodemend.safety.switch_guard import RemediatorGuardFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """The facts that every kind decides on, beside the remediation itself, from live reads."""

    epoch: int
    remembers_from: int
    node: ReadResult[NodeFacts]
    revocation: str
    lease: ReadResult[LeaseFacts]
    lock: ReadResult[LockHolder]
    policy: ReadResult[PolicyFacts]
    switch: ReadResult[RemediatorGuardFacts]
    """Read only while the remediation may start."""
    left: ReadResult[RemainingWorkloads]


SharedStatusStep = (
    RecordEpoch
    | RecordEvidence
    | ReportRemaining
    | MarkReleased
    | ForgetTaint
    | ForgetEvidence
    | Close
    | Hold
)
"""Steps of every kind that write its status."""

SharedStep = (
    AddFinalizer
    | TakeLock
    | Release
    | RemoveTaint
    | RevokeRelease
    | ClearRevocation
    | DropLock
    | DropFinalizer
    | NothingLeft
)
"""The other steps of every kind."""


@dataclass(frozen=True, slots=True)
class BootUnknown(HoldReason):
    reason: ClassVar[str] = "BootUnknown"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Node {self.node} reports no boot ID, so no evidence could name the boot that must end.",
            "Delete this remediation and repair the node's kubelet by hand.",
        )


@dataclass(frozen=True, slots=True)
class WaitingForNewBoot(HoldReason):
    reason: ClassVar[str] = "WaitingForNewBoot"
    node: str
    gone: bool = False
    """No Node of that name exists either."""

    def explain(self) -> Explanation:
        if self.gone:
            return Explanation(
                f"Waiting for {self.node or 'its node'} to be Ready on a new boot.",
                "Start the machine: its kubelet registers its Node.",
            )
        return Explanation(
            f"Waiting for {self.node} to be Ready on a new boot.",
            f"Start the machine, or delete the Node {self.node} if it will not come back.",
        )


_STATUS: Final = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}


class ConditionClaim(NamedTuple):
    """One condition. `holds` is None as long as its status is unknown."""

    type: str
    holds: bool | None
    reason: str
    message: str = ""


BROKEN_OFF: Final = "The release had begun when its evidence no longer held: workloads may run twice."


def is_contradiction(reason: HoldReason | None, *, released: bool) -> bool:
    """Return whether a boot whose workloads are released is running.

    Before the release, wrong evidence merely does not count.
    """
    match Contradicts.NEVER if reason is None else reason.contradicts:
        case Contradicts.ALWAYS:
            return True
        case Contradicts.ONCE_RELEASED:
            return released
        case Contradicts.NEVER:
            return False


def report_contradiction(step: object, *, released: bool) -> tuple[ConditionClaim, ...]:
    """Return the conditions that a step adds; empty if the step contradicts no evidence."""
    match step:
        case Hold(reason) if is_contradiction(reason, released=released):
            return (ConditionClaim(EVIDENCE_CONTRADICTED, True, reason.reason, str(reason.explain())),)
        case ForgetEvidence(contradicted=True) | MarkReleased(contradicted=True):
            return (
                ConditionClaim(EVIDENCE_CONTRADICTED, True, condition_reasons.RELEASE_ABORTED, BROKEN_OFF),
            )
        case _:
            return ()


def says_contradicted(conditions: Iterable[Condition]) -> bool:
    return find_true(conditions, EVIDENCE_CONTRADICTED) is not None


P = TypeVar("P", bound="WritableStatus")


class WritableStatus(ReleaseStatus, Protocol):
    """The status of a kind that releases workloads."""

    @property
    def message(self) -> str: ...
    @property
    def conditions(self) -> tuple[Condition, ...]: ...
    def but(self, **changes: Any) -> Self: ...


def after_eviction(status: P, step: ReportRemaining | MarkReleased | ForgetTaint, *, released: StrEnum) -> P:
    """Return the status after a step of the eviction. `released` is the phase after its end."""
    match step:
        case ReportRemaining(left):
            return status.but(pods_left=left.pods, attachments_left=left.attachments)
        case MarkReleased():
            return status.but(released=True, pods_left=0, attachments_left=0, phase=released, message="")
        case ForgetTaint():
            return status.but(tainted=False)


def with_evidence(status: P, evidence: Evidence, *, releasing: StrEnum) -> P:
    """Return the status with evidence, by which the release may begin in phase `releasing`."""
    return status.but(evidence=evidence, tainted=True, phase=releasing, message="")


def without_evidence(status: P, why: HoldReason | None, *, phase: StrEnum, **more: Any) -> P:
    """Return the status without its evidence, back in the phase before it."""
    message = str(why.explain()) if why else ""
    return status.but(evidence=None, tainted=False, phase=phase, message=message, **more)


def on_hold(status: P, reason: HoldReason, *, contradicted: StrEnum) -> P:
    """Return the status with a hold; in phase `contradicted` if it shows that workloads may run twice."""
    twice = status.released and is_contradiction(reason, released=True)
    changed = status.but(message=str(reason.explain()))
    return changed.but(phase=contradicted) if twice else changed


def closed(status: P, step: Close, *, succeeded: StrEnum) -> P:
    message = "The Node is gone." if step.node_gone else "The node is back on a new boot."
    return status.but(phase=succeeded, message=message)


def with_conditions(
    before: P, changed: P, step: object, said: Iterable[ConditionClaim], *, generation: int, now: str
) -> P:
    """Return the changed status with the conditions of `before`, updated with `said` and a contradiction.

    `now` is only for human readers.
    """
    changed = changed.but(observed_generation=generation)
    if isinstance(step, RecordEpoch):
        return changed
    new = (
        Condition(
            type=one.type,
            status=_STATUS[one.holds],
            reason=one.reason,
            message=one.message,
            observed_generation=generation,
            last_transition_time=now,
        )
        for one in (*said, *report_contradiction(step, released=before.released))
    )
    return changed.but(conditions=merged(before.conditions, new))


def tells_hold(status: WritableStatus, hold: Hold, why: str, *, over: bool) -> bool:
    """Return whether a write would add no information.

    That is so if the status has the kind of hold already, or the remediation is over. A change of numbers in
    the message is not worth a write; a contradiction that is not reported yet is.
    """
    contradicts = is_contradiction(hold.reason, released=status.released)
    if contradicts and not says_contradicted(status.conditions):
        return False
    shown = (one for one in status.conditions if one.type == condition_types.PROCESSING)
    return over or any(one.reason == why for one in shown)


def reason_of(step: object) -> str:
    """Return the CamelCase reason for conditions and events."""
    match step:
        case Hold(reason):
            return reason.reason
        case ForgetEvidence(why):
            return why.reason if why else condition_reasons.STOPPING
        case Close(node_gone):
            return condition_reasons.NODE_GONE if node_gone else condition_reasons.RECOVERED
        case _:
            return condition_reasons.IN_PROGRESS


def release_conditions(
    status: WritableStatus, why: str, fenced: ConditionClaim, *, over: bool, failed: bool = False
) -> tuple[ConditionClaim, ...]:
    """Return the conditions.

    Succeeded is Unknown until the end: False would mean to requesters that it failed.
    """
    leaving = (
        condition_reasons.WORKLOADS_LEAVING if status.evidence else condition_reasons.WAITING_FOR_EVIDENCE
    )
    released = condition_reasons.WORKLOADS_GONE if status.released else leaving
    result = why if over else condition_reasons.IN_PROGRESS
    return (
        ConditionClaim(condition_types.PROCESSING, not over, why, status.message),
        fenced,
        ConditionClaim(condition_types.WORKLOAD_RELEASED, status.released, released),
        ConditionClaim(condition_types.SUCCEEDED, not failed if over else None, result),
    )
