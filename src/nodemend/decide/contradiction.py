"""Evidence that turned out to be wrong, or no longer holds, after the release had begun.

Its workloads may run twice. That is said by one condition, whatever the kind of the remediation; once True it
stays so, whatever becomes of the node.
"""

from typing import Final

from nodemend.decide.fencing_holds import ProofContradicted
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import HoldReason, WordContradicted
from nodemend.decide.host_holds import BootOutlived, SpokeAfterRelease
from nodemend.decide.remediation_conditions import Said

EVIDENCE_CONTRADICTED: Final = "EvidenceContradicted"
_AFTER_BOTH: Final = "The release had begun when its evidence no longer held: workloads may run twice."


def is_contradiction(reason: HoldReason | None) -> bool:
    return isinstance(reason, WordContradicted | ProofContradicted | SpokeAfterRelease | BootOutlived)


def tell_contradiction(reason: HoldReason | None, *, marked: bool = False) -> tuple[Said, ...]:
    """What a step for this `reason` adds to the conditions: nothing where it contradicts no evidence.

    `marked` where the Node says that the release was broken off for that.
    """
    if reason is not None and is_contradiction(reason):
        return (Said(EVIDENCE_CONTRADICTED, True, type(reason).__name__, str(explain(reason))),)
    return (Said(EVIDENCE_CONTRADICTED, True, "ReleaseBrokenOff", _AFTER_BOTH),) if marked else ()
