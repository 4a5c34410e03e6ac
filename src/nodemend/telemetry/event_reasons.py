"""Every reason of a Kubernetes event that Nodemend records, with its meaning.

Events regard the Node, so that `kubectl describe node` shows them, and relate to the remediation if there is
one.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api.upstream_types import EventType


@dataclass(frozen=True, slots=True)
class EventReason:
    """`name` is the event's reason, `action` what Nodemend was doing; each is one CamelCase identifier."""

    name: str
    type: EventType
    action: str
    meaning: str


def _normal(name: str, action: str, meaning: str) -> EventReason:
    return EventReason(name, EventType.NORMAL, action, meaning)


def _warning(name: str, action: str, meaning: str) -> EventReason:
    return EventReason(name, EventType.WARNING, action, meaning)


NODE_SUSPECT: Final = _normal("NodeSuspect", "Evaluate", "A threshold is met, but not yet for long enough.")
NODE_UNHEALTHY: Final = _warning(
    "NodeUnhealthy", "Evaluate", "A threshold has been met for its whole period."
)
NODE_HEALTHY: Final = _normal(
    "NodeHealthy", "Evaluate", "No threshold is met any more, and no remediation is open."
)
MACHINE_UNHEALTHY: Final = _warning(
    "MachineUnhealthy", "Evaluate", "A Machine meets an unhealthy condition of its check."
)
MACHINE_HEALTHY: Final = _normal(
    "MachineHealthy", "Evaluate", "The Machine meets no unhealthy condition of its check."
)
REMEDIATION_ORDERED: Final = _normal(
    "RemediationOrdered",
    "Order",
    "A user ordered the remediation of the node now (`kubectl mend run` or `override`).",
)
OVERRIDE_USED: Final = _warning(
    "OverrideUsed",
    "Order",
    "A remediation started past the limits of the guard; the note names the user, the limits and the reason.",
)
ORDER_EXPIRED: Final = _warning("OrderExpired", "Order", "A user's order ended unused; the note says why.")
REMEDIATION_STARTED: Final = _normal(
    "RemediationStarted", "Request", "A health check created a remediation of the node."
)
REMEDIATION_WITHDRAWN: Final = _normal(
    "RemediationWithdrawn", "Withdraw", "The health check no longer needs its remediation, and deleted it."
)
REMEDIATION_ANNOTATION_CLEARED: Final = _normal(
    "RemediationAnnotationCleared",
    "Close",
    "Regards a Machine: Nodemend removed host.metal3.io/external-remediation, because its node is healthy.",
)
REMEDIATION_ANNOTATION_IGNORED: Final = _warning(
    "RemediationAnnotationIgnored",
    "Hold",
    "Regards a Machine: Nodemend ignores host.metal3.io/external-remediation on it; the note says why.",
)
REMEDIATION_ESCALATED: Final = _warning(
    "RemediationEscalated",
    "Escalate",
    "A remedy did not heal the node in its time; Nodemend ends it and starts the next one.",
)
REMEDIATION_HELD: Final = _warning(
    "RemediationHeld", "Hold", "Refused for now; the note says why and what would change it."
)
STILL_HELD: Final = _warning(
    "StillHeld",
    "Hold",
    "Regards the health check: its remediations have been held for long. Repeated while that lasts,"
    " after 5, 15, 35 and 75 minutes and then every 45; the note has the numbers.",
)
CHECK_OVERLAPPED: Final = _warning(
    "CheckOverlapped",
    "Evaluate",
    "Regards the health check: it selects targets that another check, the first by name, watches. The note"
    " has the number of these, their check, and the number of targets that are left to this check.",
)
CHECK_STALLED: Final = _warning(
    "CheckStalled",
    "Evaluate",
    "Regards the health check: it could not act on any failure. The note has the reason, as its condition"
    " Stalled does.",
)
REMEDIATION_UNSERVED: Final = _warning(
    "RemediationUnserved",
    "Evaluate",
    "Regards the health check: no controller has started its remediation for 2 minutes.",
)
RECOVERY_STARTED: Final = _normal(
    "RecoveryStarted",
    "Recover",
    "The node is healthy again, and the recovery that its check names has started.",
)
RECOVERY_SUCCEEDED: Final = _normal(
    "RecoverySucceeded", "Recover", "The recovery reports that it has succeeded."
)
RECOVERY_FAILED: Final = _warning(
    "RecoveryFailed",
    "Recover",
    "The recovery has failed or is overdue; the note says what to do. The node stays in service.",
)
RECOVERY_WITHDRAWN: Final = _normal(
    "RecoveryWithdrawn",
    "Recover",
    "The recovery was deleted before it succeeded: the node failed again, or a user deleted it.",
)
OPERATOR_CONFIRMED_OFF: Final = _warning(
    "OperatorConfirmedOff", "Fence", "An operator confirmed that the node is down (evidence E5)."
)
POWER_OFF_REQUESTED: Final = _warning(
    "PowerOffRequested",
    "Fence",
    "Nodemend placed its power-off request on the node's host: metal3 powers it off.",
)
POWER_OFF_CONFIRMED: Final = _warning(
    "PowerOffConfirmed",
    "Fence",
    "The host went off after Nodemend's power-off request, and the node is silent (evidence E1).",
)
POWER_ON_REQUESTED: Final = _normal(
    "PowerOnRequested", "Recover", "Nodemend cleared its power-off request on the node's host."
)
POWER_NOT_RESTORED: Final = _warning(
    "PowerNotRestored",
    "Close",
    "The remediation has ended, and the host that it powered off is not powered on again.",
)
NODE_RESTORED: Final = _normal(
    "NodeRestored",
    "Recover",
    "A Node was deleted to release its workloads, and exists again; Nodemend restored on it what the note"
    " names.",
)
NODE_NOT_RESTORED: Final = _warning(
    "NodeNotRestored",
    "Recover",
    "A Node was deleted to release its workloads, and Nodemend could not restore what the note names.",
)
DELEGATE_CREATED: Final = _normal(
    "DelegateCreated",
    "Request",
    "Regards one of CAPM3's remediations: a Metal3Remediation of nodemend.io with the same name is its"
    " delegate, and carries it out.",
)
DELEGATE_DELETED: Final = _normal(
    "DelegateDeleted",
    "Withdraw",
    "Regards one of CAPM3's remediations: Nodemend deletes its delegate. The note says why.",
)
POWER_OFF_REQUEST_LEFT_BEHIND: Final = _warning(
    "PowerOffRequestLeftBehind",
    "Recover",
    "Regards the host: it has a power-off request for a remediation that no longer exists. The note says"
    " whether Nodemend clears it.",
)
POWER_CYCLE_FAILED: Final = _warning(
    "PowerCycleFailed",
    "Escalate",
    "One attempt has failed; the note says why. Nodemend tries again after a pause.",
)
REMEDIATION_FAILED: Final = _warning(
    "RemediationFailed", "Escalate", "All attempts have failed; the note says what an operator should do."
)
HOST_MARKED_UNHEALTHY: Final = _warning(
    "HostMarkedUnhealthy",
    "Escalate",
    "Nodemend marked the host, so that metal3 does not pick it for another machine.",
)
MACHINE_REPLACEMENT_REQUESTED: Final = _warning(
    "MachineReplacementRequested",
    "Escalate",
    "Power cycles did not help; Nodemend requested a replacement from the Machine's owner. The host stays"
    " off.",
)
SELF_FENCING_REQUESTED: Final = _warning(
    "SelfFencingRequested",
    "Fence",
    "Nodemend set the marker on the agent's Lease: the node must reset itself.",
)
BOOT_END_PROVEN: Final = _normal(
    "BootEndProven",
    "Fence",
    "Enough time has passed under the marker: the watchdog has reset the node, even if it is isolated.",
)
NEW_BOOT_OBSERVED: Final = _normal(
    "NewBootObserved", "Fence", "The node reports a new boot: the one that was marked is over."
)
MARKER_REMOVED: Final = _normal(
    "MarkerRemoved", "Recover", "Nodemend removed the marker from the agent's Lease."
)
EVIDENCE_REVOKED: Final = _warning(
    "EvidenceRevoked", "Fence", "Recorded evidence is no longer valid; nothing is released on it."
)
RELEASE_STARTED: Final = _warning(
    "ReleaseStarted", "Release", "Nodemend set the out-of-service taint on the node, or deleted the Node."
)
WORKLOADS_RELEASED: Final = _normal(
    "WorkloadsReleased", "Release", "All pods and volumes that must leave the node have left."
)
OUT_OF_SERVICE_TAINT_REMOVED: Final = _normal(
    "OutOfServiceTaintRemoved", "Recover", "Nodemend removed the out-of-service taint from the node."
)
NODE_CONTRADICTED_EVIDENCE: Final = _warning(
    "NodeContradictedEvidence",
    "Recover",
    "After the release had started, the boot that was proven to be down was alive, or its evidence was no"
    " longer valid: its workloads may run twice.",
)
REMEDIATION_SUCCEEDED: Final = _normal(
    "RemediationSucceeded", "Close", "The node is back on a new boot, or its Node is gone."
)
REMEDIATION_STOPPED: Final = _normal(
    "RemediationStopped", "Close", "The remediation was deleted, and ended before it succeeded."
)
POLICY_NOT_PROVEN: Final = _warning(
    "AdmissionPolicyNotProven",
    "Hold",
    "Regards one of Nodemend's ValidatingAdmissionPolicies: it is not in force, or that is unknown; the note"
    " says why. Until it is proven nothing irreversible starts, and the signer signs nothing.",
)

EVENT_REASONS: Final = tuple(value for value in list(globals().values()) if isinstance(value, EventReason))
"""In the order of their definitions."""
