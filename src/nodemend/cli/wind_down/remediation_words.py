"""A remediation that is to end, in words: which one, and where it stands."""

from typing import Final

from nodemend.api import manual_remediation, power_cycle, self_remediation
from nodemend.cli.remediations import Remediation, resource_of
from nodemend.cli.words import first_sentence

_BEGINS: Final = "it has changed nothing yet"
_LEAVING: Final = "its workloads are being released; that is brought to its end first"
_ENDED: Final = "it has ended; what is left of it is cleared away"
_TWICE: Final = "its workloads are released, and its old boot runs: they may run twice"
_STANDS: Final[dict[str, str]] = {
    power_cycle.Phase.PENDING: _BEGINS,
    power_cycle.Phase.POWER_OFF: "its host is to go off, and nothing of the node is released yet",
    power_cycle.Phase.RELEASE: _LEAVING,
    power_cycle.Phase.POWER_ON: "its workloads are released, and its host is to come back on",
    power_cycle.Phase.CONTRADICTED: _TWICE,
    power_cycle.Phase.BACKING_OFF: "an attempt has failed, and its host is let on",
    power_cycle.Phase.DELETING_MACHINE: "its machine's owner is asked to replace it",
    power_cycle.Phase.SUCCEEDED: _ENDED,
    power_cycle.Phase.FAILED: _ENDED,
    manual_remediation.Phase.PENDING: _BEGINS,
    manual_remediation.Phase.AWAITING_WORD: "it waits for a person's word, and nothing is released yet",
    manual_remediation.Phase.RELEASING: _LEAVING,
    manual_remediation.Phase.RECOVERING: "its workloads are released, and the node is to come back",
    manual_remediation.Phase.CONTRADICTED: _TWICE,
    manual_remediation.Phase.SUCCEEDED: _ENDED,
    self_remediation.Phase.FENCING: "the node was asked to reset itself, and nothing is released yet",
}
"""What is so in each phase, where a remediation does not say more itself."""


def title(remediation: Remediation) -> str:
    metadata = remediation.metadata
    return f"{resource_of(remediation).kind} {metadata.namespace}/{metadata.name}"


def waits_for(remediation: Remediation) -> str:
    """Its own words, or at least where it stands."""
    status = remediation.status
    return first_sentence(status.message) or _STANDS[status.phase]
