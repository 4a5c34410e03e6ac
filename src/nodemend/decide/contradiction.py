"""Evidence that turned out to be wrong, or no longer holds, after the release had begun.

Its workloads may run twice. That is said by one condition, whatever the kind of the remediation; once True it
stays so, whatever becomes of the node.
"""

from collections.abc import Iterable
from typing import Final

from nodemend.api.conditions import Condition, find_true
from nodemend.decide.fencing_holds import ProofContradicted
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold, HoldReason, WordContradicted
from nodemend.decide.host_holds import BootOutlived, SpokeAfterRelease
from nodemend.decide.remediation_conditions import Said
from nodemend.decide.remediation_steps import ForgetEvidence, MarkReleased

EVIDENCE_CONTRADICTED: Final = "EvidenceContradicted"
BROKEN_OFF: Final = "The release had begun when its evidence no longer held: workloads may run twice."


def is_contradiction(reason: HoldReason | None, *, released: bool) -> bool:
    """Whether a boot whose workloads are released runs. Before the release, wrong evidence is no evidence."""
    if isinstance(reason, SpokeAfterRelease | BootOutlived):
        return True
    return released and isinstance(reason, WordContradicted | ProofContradicted)


def tell_contradiction(step: object, *, released: bool) -> tuple[Said, ...]:
    """What a step adds to the conditions: nothing where it contradicts no evidence."""
    match step:
        case Hold(reason) if is_contradiction(reason, released=released):
            return (Said(EVIDENCE_CONTRADICTED, True, type(reason).__name__, str(explain(reason))),)
        case ForgetEvidence(contradicted=True) | MarkReleased(contradicted=True):
            return (Said(EVIDENCE_CONTRADICTED, True, "ReleaseBrokenOff", BROKEN_OFF),)
        case _:
            return ()


def says_contradicted(conditions: Iterable[Condition]) -> bool:
    return find_true(conditions, EVIDENCE_CONTRADICTED) is not None


def is_untold(conditions: Iterable[Condition], reason: HoldReason, *, released: bool) -> bool:
    """Whether the conditions do not say yet what this hold means."""
    return is_contradiction(reason, released=released) and not says_contradicted(conditions)
