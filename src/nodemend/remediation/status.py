"""Status conditions of remediations that release workloads: progress, and evidence that proved wrong.

Evidence may prove wrong, or become invalid, after the release had begun: the workloads may run twice. One
condition reports that for every kind of remediation. Once True it stays True, whether or not the node
recovers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from nodemend.api import condition_reasons, condition_types
from nodemend.api.meta import Condition, ConditionStatus, find_true, merged
from nodemend.safety.holds import Contradicts, Explanation, Hold, HoldReason
from nodemend.safety.lifecycle import ForgetEvidence, MarkReleased


@dataclass(frozen=True, slots=True)
class BootUnknown(HoldReason):
    """The Node reports no boot ID, so evidence could not name the boot that must end."""

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


def names(shown: tuple[Condition, ...], reason: str) -> bool:
    """Return whether the Processing condition already has this reason.

    A change of numbers in the message is not worth a write.
    """
    return any(one.type == condition_types.PROCESSING and one.reason == reason for one in shown)


def conditions_of(
    shown: tuple[Condition, ...], said: Iterable[ConditionClaim], *, generation: int, now: str
) -> tuple[Condition, ...]:
    """Return the shown conditions, updated with those in `said`. `now` is only for human readers."""
    new = (
        Condition(
            type=one.type,
            status=_STATUS[one.holds],
            reason=one.reason,
            message=one.message,
            observed_generation=generation,
            last_transition_time=now,
        )
        for one in said
    )
    return merged(shown, new)


EVIDENCE_CONTRADICTED: Final = condition_types.EVIDENCE_CONTRADICTED


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


def is_unreported(conditions: Iterable[Condition], reason: HoldReason, *, released: bool) -> bool:
    """Return whether `reason` is a contradiction that the conditions do not report yet."""
    return is_contradiction(reason, released=released) and not says_contradicted(conditions)
